// The list of versions in the sidebar. versions.js is beside the folders of all versions.
"use strict";

window.showVersions = ({ present, all }) => {
  const place = document.querySelector(".sidebar-scroll");
  if (place === null || all.length < 2) return;
  const list = document.createElement("select");
  list.ariaLabel = "Version";
  list.className = "versions";
  list.append(...all.map(name => new Option(name, name, name === present, name === present)));
  const root = document.documentElement.dataset.content_root;
  list.addEventListener("change", () => {
    location.href = `${root}../${list.value}/docs/index.html`;
  });
  place.prepend(list);
};

{
  const root = document.documentElement.dataset.content_root;
  const present = new URL(root, location.href).pathname.split("/").filter(Boolean).at(-1);
  const script = document.createElement("script");
  script.src = `${root}../versions.js`;
  script.addEventListener("load", () => window.showVersions({ present, all: window.siteVersions }));
  document.head.append(script);
}
