// The picture: the whole arm is in it at every size of the window, and the camera stays above the floor.
"use strict";
(() => {
  const PERIOD = 200; // ms
  const MOVED = 1e-3; // of the distance: a camera that is elsewhere was moved
  const given = new URLSearchParams(location.search).has("initialCameraPosition");
  const button = document.getElementById("home-view");
  let view = null, framed = null, size = "", prepared = null;
  let touched = false; // the page, since the last frame: else it was viser's client that moved the camera, as it starts
  let moved = given; // by the user, who keeps that view

  // viser has no call for the camera of the browser that a button is in; its client shows its camera to tests.
  const viewer = () => window.__viserMutable;
  const root = () => window.__viserSceneTree?.getState()[""]?.wxyz ?? [1, 0, 0, 0];

  function turned([x, y, z]) { // from the robot's base to the axes of the browser's scene
    const [w, i, j, k] = root();
    const [a, b, c] = [2 * (j * z - k * y), 2 * (k * x - i * z), 2 * (i * y - j * x)];
    return [x + w * a + j * c - k * b, y + w * b + k * a - i * c, z + w * c + i * b - j * a];
  }

  function wanted() { // camera and what it looks at, so that a ball around the arm fills the picture
    const { camera, canvas } = viewer();
    const half = camera.fov * Math.PI / 360;
    const across = Math.atan(Math.tan(half) * canvas.clientWidth / canvas.clientHeight);
    const distance = view.radius / Math.sin(Math.min(half, across));
    const place = view.centre.map((each, axis) => each + distance * view.towards[axis]);
    return { place: turned(place), aim: turned(view.centre), distance };
  }

  function frame(smoothly) {
    const { place, aim, distance } = wanted();
    viewer().cameraControl.setLookAt(...place, ...aim, smoothly);
    framed = { place, distance };
    moved = touched = false;
  }

  function prepare(control) { // rotation ends at the horizon, and what is looked at stays above the floor
    if (prepared === control) return;
    prepared = control;
    control.maxPolarAngle = Math.PI / 2;
    const far = 1e4;
    control.setBoundary({ isEmpty: () => false, min: { x: -far, y: view.floor, z: -far }, max: { x: far, y: far, z: far } });
  }

  function isElsewhere(control) {
    const at = control.getPosition(viewer().camera.position.clone()).toArray();
    return Math.hypot(...at.map((each, axis) => each - framed.place[axis])) > MOVED * framed.distance;
  }

  function check() {
    const control = viewer()?.cameraControl;
    const canvas = viewer()?.canvas;
    if (!control || !canvas || !view || !canvas.clientHeight) return;
    prepare(control);
    const shown = `${canvas.clientWidth} ${canvas.clientHeight}`;
    const elsewhere = framed && isElsewhere(control);
    if (elsewhere && touched) moved = true;
    if (!moved && (!framed || elsewhere || shown !== size)) frame(false);
    size = shown;
  }

  button.addEventListener("click", () => { if (viewer()?.cameraControl && view) frame(true); });
  document.addEventListener("bar-state", event => {
    view = event.detail.view;
    button.hidden = !view;
  });
  for (const kind of ["pointerdown", "wheel", "keydown"]) addEventListener(kind, () => { touched = true; }, true);
  setInterval(check, PERIOD);
})();
