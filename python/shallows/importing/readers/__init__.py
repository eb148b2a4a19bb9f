"""One file format, one module. `formats` lists them; nothing else names one."""
