// Before the first paint: the theme that was chosen, else the system's.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem("analytiq.theme");
  } catch (_) {
    /* storage is switched off: the system's theme it is */
  }
  var isDark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
})();
