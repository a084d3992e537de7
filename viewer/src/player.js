// The player of a page: reads what Python wrote into it, and plays. Tests and other scripts use `window.gambolPlayer`.
import { load } from "./character.js";
import { Clock } from "./clock.js";
import { Panel } from "./panel.js";
import { Studio } from "./studio.js";

const LONGEST_STEP = 0.1; // after a pause of the whole page the clip goes on where it was [s]

const errors = [];
window.addEventListener("error", ({ message }) => errors.push(message));
window.addEventListener("unhandledrejection", ({ reason }) => errors.push(String(reason)));

const root = document.getElementById("gambol-player");
const scenes = JSON.parse(document.getElementById("gambol-scenes").textContent);
const clock = new Clock(scenes.map(({ facts }) => facts));
let [characters, studio] = [[], null];
let [marking, onScreen, asked, last] = [true, true, false, null];

const panel = new Panel(root, {
  play: () => play(!clock.playing),
  seek,
  step(seconds) {
    clock.playing = false;
    clock.step(seconds);
    ask();
  },
  speed(factor) {
    clock.speed = factor;
  },
  view(name) {
    studio.look(name);
    ask();
  },
  toggle(name, on) {
    if (name === "bones") characters.forEach((character) => (character.bones.visible = on));
    if (name === "feet") marking = on;
    if (name === "follow") characters.forEach((character) => character.follow(on));
    if (name === "ground") characters.forEach((character) => (character.passing = on));
    ask();
  },
});

function play(on) {
  clock.playing = on && clock.duration > 0;
  last = null;
  ask();
}

function seek(seconds) {
  clock.seek(seconds);
  ask();
}

/** Draw soon: once a frame, only if something has changed, only what can be seen. */
function ask() {
  if (asked || !studio || !onScreen) return;
  asked = true;
  requestAnimationFrame(draw);
}

/** Scrolled away, the clip waits. */
function appear(there) {
  onScreen = there;
  last = null;
  ask();
}

function draw(now) {
  asked = false;
  if (clock.playing) {
    clock.advance(last === null ? 0 : Math.min((now - last) / 1000, LONGEST_STEP));
    last = now;
    ask();
  }
  characters.forEach((character) => character.pose(clock.elapsed, marking));
  studio.draw();
  panel.show(clock);
}

async function begin() {
  characters = await Promise.all(scenes.map(load));
  const stage = root.querySelector("[data-part=stage]");
  studio = new Studio(stage, [...root.querySelectorAll("[data-part=pane]")], characters);
  studio.controls.addEventListener("change", ask);
  new IntersectionObserver((entries) => appear(entries.at(-1).isIntersecting)).observe(stage);
  new ResizeObserver(() => (studio.resize(), ask())).observe(stage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (studio.paint(), ask()));
  const some = (test) => scenes.some(({ facts }) => test(facts));
  panel.offer("bones", some(({ bones }) => bones.length));
  panel.offer("feet", some(({ feet }) => feet.some(({ spans }) => spans.length)));
  panel.offer("follow", some(({ path }) => path.length > 1));
  panel.offer("ground", some(({ ground }) => ground.some(Boolean)));
  panel.say("");
  draw(performance.now());
  play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
}

const ready = begin().catch((error) => {
  errors.push(String(error));
  panel.say(`The 3D view cannot be shown: it needs WebGL 2 and a browser of 2023 or newer. (${error.message})`);
});

window.gambolPlayer = {
  ready,
  errors,
  seek,
  play: () => play(true),
  pause: () => play(false),
  get time() {
    return clock.time;
  },
  get duration() {
    return clock.duration;
  },
  get playing() {
    return clock.playing;
  },
};
