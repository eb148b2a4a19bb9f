// Names for readers by ear that the theme leaves out.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
