// A browser that prefers a dark page gets one: viser's client reads that from the address when it starts.
"use strict";
(() => {
  const address = new URL(location.href);
  if (!matchMedia("(prefers-color-scheme: dark)").matches || address.searchParams.has("darkMode")) return;
  address.searchParams.set("darkMode", "");
  history.replaceState(null, "", address);
})();
