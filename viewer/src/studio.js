// Where all scenes are looked at: one camera for all of them, so that side by side they are seen alike.
import { Box3, NeutralToneMapping, PCFShadowMap, PerspectiveCamera, Vector3, WebGLRenderer } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

/** Azimuth from the front and elevation [degrees]; seen from its right side a character walks to the right. */
const VIEWS = { reset: [-42, 14], side: [-90, 5], front: [0, 8] };
const FILL = 0.86;

export class Studio {
  constructor(stage, panes, characters) {
    Object.assign(this, { stage, panes, characters });
    this.renderer = new WebGLRenderer({ antialias: true, alpha: true });
    this.renderer.toneMapping = NeutralToneMapping;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.setScissorTest(true);
    stage.prepend(this.renderer.domElement);
    this.camera = new PerspectiveCamera(30, 1, 0.02, 60);
    this.controls = new OrbitControls(this.camera, stage);
    Object.assign(this.controls, { enableDamping: true, dampingFactor: 0.12, minDistance: 0.3, maxDistance: 20 });
    this.controls.maxPolarAngle = 0.85 * Math.PI;
    stage.style.touchAction = "pan-y"; // a finger that moves up scrolls the page, one that moves sideways turns
    this.paint();
    this.resize();
    this.look("reset");
  }

  /** The page's colours, light or dark. */
  paint() {
    const style = getComputedStyle(this.stage);
    const colors = ["--floor", "--tile", "--grid"].map((name) => style.getPropertyValue(name).trim());
    for (const { floor } of this.characters) floor.paint(...colors);
  }

  resize() {
    const { clientWidth, clientHeight } = this.stage;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.rects = this.panes.map(({ offsetLeft, offsetTop, offsetWidth, offsetHeight }) => ({
      left: offsetLeft,
      bottom: clientHeight - offsetTop - offsetHeight,
      width: offsetWidth,
      height: offsetHeight,
    }));
  }

  /** From where to look; as near as all the clip can be seen. */
  look(view) {
    const [azimuth, elevation] = VIEWS[view].map((degrees) => (degrees * Math.PI) / 180);
    const toward = new Vector3(Math.sin(azimuth), Math.tan(elevation), Math.cos(azimuth)).normalize();
    const right = new Vector3(Math.cos(azimuth), 0, -Math.sin(azimuth));
    const up = new Vector3().crossVectors(toward, right);
    const points = this.characters.flatMap(({ facts }) => facts.hull.map((point) => new Vector3(...point)));
    const slope = Math.tan((this.camera.fov * Math.PI) / 360) * FILL;
    const aspect = Math.min(...this.rects.map(({ width, height }) => width / height));
    const middle = new Box3().setFromPoints(points).getCenter(new Vector3());
    let distance = 0;
    for (let round = 0; round < 4; round++) {
      const offsets = points.map((point) => point.clone().sub(middle));
      const seen = offsets.map((offset) => [right, up, toward].map((axis) => offset.dot(axis)));
      distance = Math.max(...seen.map(([x, y, z]) => z + Math.max(Math.abs(x) / aspect, Math.abs(y)) / slope));
      const heights = seen.map(([, y, z]) => y / (distance - z));
      middle.y += (distance * (Math.min(...heights) + Math.max(...heights))) / 2; // as much room above as below
    }
    this.controls.enableDamping = false;
    this.controls.update(); // forgets what is left of the last turn
    this.controls.enableDamping = true;
    this.camera.position.copy(middle).addScaledVector(toward, distance);
    this.controls.target.copy(middle);
    this.controls.update();
  }

  draw() {
    this.controls.update();
    this.rects.forEach(({ left, bottom, width, height }, number) => {
      this.camera.aspect = width / height;
      this.camera.updateProjectionMatrix();
      this.renderer.setViewport(left, bottom, width, height);
      this.renderer.setScissor(left, bottom, width, height);
      const { scene, bones } = this.characters[number];
      this.renderer.autoClear = true;
      this.renderer.render(scene, this.camera);
      if (!bones.visible) return;
      this.renderer.autoClear = false;
      this.renderer.clearDepth();
      this.renderer.render(bones, this.camera);
    });
  }
}
