// Keeps the pages in the browser, so that they open without a network once they were opened with one.
"use strict";

const KEPT = "pages-1";
const FILES = [
  "planar.html", "joint.html", "pages.css", "controls.js", "chart.js", "planar_arm.js", "planar.js", "joint_step.js", "joint.js",
];

self.addEventListener("install", event => {
  event.waitUntil(caches.open(KEPT).then(kept => kept.addAll(FILES)));
  self.skipWaiting();
});

self.addEventListener("activate", event => event.waitUntil(self.clients.claim()));

// What the network has is newer than what is kept.
self.addEventListener("fetch", event => {
  event.respondWith(fetch(event.request).then(answer => {
    const copy = answer.clone();
    if (answer.ok) event.waitUntil(caches.open(KEPT).then(kept => kept.put(event.request, copy)));
    return answer;
  }).catch(() => caches.match(event.request)));
});
