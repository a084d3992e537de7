// Time of all scenes together [s]. What loops goes on for ever; anything else rests at its end and begins again.

const REST = 0.5;

export class Clock {
  constructor(scenes) {
    this.duration = Math.max(...scenes.map((scene) => scene.seconds));
    this.loops = this.duration > 0 && scenes.every((scene) => scene.loops);
    this.elapsed = 0;
    this.speed = 1;
    this.playing = false;
  }

  /** Within the clip. */
  get time() {
    return this.loops ? this.elapsed % this.duration : Math.min(this.elapsed, this.duration);
  }

  /** Another moment of the same round: scenes of other lengths keep their step. */
  seek(seconds) {
    const last = this.loops ? this.duration * (1 - 1e-6) : this.duration; // the end of what loops is its start again
    const within = Math.min(Math.max(Number(seconds) || 0, 0), last);
    this.elapsed = this.loops ? Math.floor(this.elapsed / this.duration) * this.duration + within : within;
  }

  /** A step with the arrow keys goes round at the ends of what loops. */
  step(seconds) {
    const next = this.time + seconds;
    this.seek(this.loops ? (next + this.duration) % this.duration : next);
  }

  advance(seconds) {
    this.elapsed += seconds * this.speed;
    if (!this.loops && this.elapsed > this.duration + REST * this.speed) this.elapsed = 0;
  }
}
