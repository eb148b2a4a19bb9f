// Dark or light, text size and copying, for the live page and the page without a server; both choices are remembered in
// this browser. `shallowsApplyDark` is the page's own.
window.shallowsStored = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
window.shallowsStore = (key, value) => { try { localStorage.setItem(key, value); } catch { /* private window */ } };
window.shallowsIsDark = () => {
  const kept = shallowsStored("shallows-dark");
  return kept === null ? matchMedia("(prefers-color-scheme: dark)").matches : kept === "1";
};
window.shallowsDark = () => {
  const dark = !document.body.classList.contains("body--dark");
  shallowsStore("shallows-dark", dark ? "1" : "0");
  shallowsApplyDark(dark);
};
window.shallowsZoom = (sign) => {
  const size = Math.min(28, Math.max(12, (Number(shallowsStored("shallows-size")) || 16) + 2 * sign));
  shallowsStore("shallows-size", size);
  document.documentElement.style.fontSize = `${size}px`;
};
window.shallowsCopy = async (text) => {
  try { await navigator.clipboard.writeText(text); } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
};
window.shallowsCopyBeside = (button) => shallowsCopy(button.parentElement.querySelector(".sh-code").textContent);
document.documentElement.lang = "en";
document.documentElement.style.fontSize = `${Number(shallowsStored("shallows-size")) || 16}px`;
