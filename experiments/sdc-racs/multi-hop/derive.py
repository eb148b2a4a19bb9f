"""Writes a hundred draws of SDC's rates a placement, in some minutes: python derive.py > sdc_rule.csv"""

from rates import FLOWS, PLACEMENTS, ways
from sdc_rule import draw

if __name__ == "__main__":
    print("placement,seed," + ",".join(FLOWS))
    for placement, racks in PLACEMENTS.items():
        for seed in range(1, 101):
            rates = ",".join(f"{rate:.2f}" for rate in draw(ways(racks), seed))
            print(f"{placement},{seed},{rates}", flush=True)
