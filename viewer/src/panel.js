// Buttons, slider and keys.

const FRAME = 1 / 30;

export class Panel {
  /** on: what to do, by name: play, seek, step, speed, view, toggle. */
  constructor(root, on) {
    this.root = root;
    this.part = (name) => root.querySelector(`[data-part=${name}]`);
    this.slider = this.part("time");
    this.part("play").addEventListener("click", () => on.play());
    this.slider.addEventListener("input", () => on.seek(this.slider.valueAsNumber));
    this.part("speed").addEventListener("change", (event) => on.speed(Number(event.target.value)));
    for (const button of root.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => on.view(button.dataset.view));
    }
    for (const button of root.querySelectorAll("[data-toggle]")) {
      button.addEventListener("click", () => {
        const pressed = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", pressed);
        on.toggle(button.dataset.toggle, pressed);
      });
    }
    this.listen(on);
  }

  /** Keys count where the player has the focus or the pointer is, so that the page still scrolls elsewhere. */
  listen(on) {
    const stage = this.part("stage");
    stage.addEventListener("pointerdown", () => stage.focus({ preventScroll: true }));
    // Likewise the wheel zooms what was clicked before, and scrolls the page otherwise.
    const wheel = (event) => document.activeElement !== stage && !event.ctrlKey && event.stopImmediatePropagation();
    stage.addEventListener("wheel", wheel, { capture: true });
    document.addEventListener("keydown", (event) => {
      const { target, key } = event;
      const ours = this.root.contains(target) || (target === document.body && this.root.matches(":hover"));
      if (!ours || event.ctrlKey || event.metaKey || event.altKey || target.matches("button, select")) return;
      if (key === " ") on.play();
      else if (key === "ArrowRight" && target !== this.slider) on.step(FRAME);
      else if (key === "ArrowLeft" && target !== this.slider) on.step(-FRAME);
      else return;
      event.preventDefault();
    });
  }

  offer(name, there) {
    this.root.querySelector(`[data-toggle=${name}]`).hidden = !there;
  }

  say(text) {
    const message = this.part("message");
    message.textContent = text;
    message.hidden = !text;
  }

  show(clock) {
    const { time, duration, playing } = clock;
    const button = this.part("play");
    if (button.dataset.playing !== String(playing)) {
      button.dataset.playing = playing;
      button.setAttribute("aria-label", playing ? "Pause" : "Play");
    }
    this.slider.max = duration;
    this.slider.value = time;
    this.slider.style.setProperty("--share", duration ? time / duration : 0);
    this.part("clock").textContent = `${time.toFixed(2)} / ${duration.toFixed(2)} s`;
    document.documentElement.style.setProperty("--played", duration ? time / duration : 0); // for other figures
  }
}
