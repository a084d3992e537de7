// One character that plays its clip on its own floor.
import {
  AnimationMixer,
  CircleGeometry,
  DirectionalLight,
  Group,
  HemisphereLight,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  Scene,
  Vector3,
} from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { Bones } from "./bones.js";
import { Floor } from "./floor.js";

const SIDES = { left: "#4f8fd0", right: "#e08a3c" };
const KEY = new Vector3(-1.1, 1.35, 0.1).normalize();

export async function load(data) {
  const gltf = await new GLTFLoader().parseAsync(await bytes(data.glb), "");
  return new PlayedCharacter(data.facts, gltf);
}

/** What Python packed: a gzip file in base64. */
async function bytes(base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

class PlayedCharacter {
  constructor(facts, gltf) {
    this.facts = facts;
    this.following = true;
    this.passing = true;
    this.anchor = { spot: [0, 0], cycles: 0 }; // where the camera stays
    this.now = { time: 0, cycles: 0 };
    this.scene = new Scene();
    this.floor = new Floor();
    this.key = new DirectionalLight("#fff6ea", 2.8);
    const rim = new DirectionalLight("#dfe9ff", 0.9);
    rim.position.set(1, 0.6, -1);
    this.scene.add(this.floor, this.key, this.key.target, rim, new HemisphereLight("#ffffff", "#b5a896", 2.2));
    this.group = new Group();
    const upright = new Group();
    upright.matrixAutoUpdate = false;
    upright.matrix.copy(new Matrix4().fromArray(facts.matrix));
    upright.add(gltf.scene);
    this.group.add(upright);
    this.scene.add(this.group);
    gltf.scene.traverse((object) => object.isMesh && prepare(object));
    const nodes = numbered(gltf.parser.associations);
    this.bones = new Bones(facts.bones, nodes);
    this.mixer = new AnimationMixer(gltf.scene);
    this.action = gltf.animations.length ? this.mixer.clipAction(gltf.animations[0]).play() : null;
    this.marks = this.marked(nodes);
    this.aim();
  }

  /** The whole body in the light's view, so that its shadow is as fine as it can be. */
  aim() {
    const reach = Math.max(...this.facts.hull.map(([x, y, z]) => Math.hypot(x, y, z)), 0.5);
    const { shadow } = this.key;
    this.key.castShadow = true;
    this.distance = 3 * reach;
    shadow.mapSize.set(1024, 1024);
    Object.assign(shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach });
    Object.assign(shadow.camera, { near: reach, far: 5 * reach });
    shadow.radius = 4;
    shadow.bias = -0.0005;
    shadow.normalBias = 0.02;
  }

  /** A disc for each foot, which is seen while the foot is on the ground. */
  marked(nodes) {
    const shape = new CircleGeometry(0.055, 32).rotateX(-Math.PI / 2);
    const look = { transparent: true, opacity: 0.75, toneMapped: false, depthWrite: false };
    const before = { polygonOffset: true, polygonOffsetFactor: -2, polygonOffsetUnits: -2 };
    return this.facts.feet.map((foot) => {
      const material = new MeshBasicMaterial({ color: SIDES[foot.side], ...look, ...before });
      const disc = new Mesh(shape, material);
      disc.renderOrder = 1;
      this.scene.add(disc);
      return { foot, disc, node: nodes.get(foot.node), sole: new Vector3(...foot.sole) };
    });
  }

  /** Show the frame so long after the start [s]. */
  pose(elapsed, marking) {
    const { seconds, loops, cycle_travel: travel, ground } = this.facts;
    const done = loops ? Math.floor(elapsed / seconds) : 0; // cycles
    const time = loops ? elapsed - done * seconds : Math.min(elapsed, seconds);
    if (this.action) {
      this.action.time = time;
      this.mixer.update(0);
    }
    const here = this.path(time);
    this.now = { time, cycles: done };
    const { spot, cycles } = this.following ? { spot: here, cycles: done } : this.anchor;
    const [x, z] = spot;
    this.group.position.set(-x, 0, -z);
    this.floor.position.set(here[0] - x, 0, here[1] - z);
    this.key.target.position.copy(this.floor.position);
    this.key.position.copy(this.floor.position).addScaledVector(KEY, this.distance);
    const passed = this.passing ? elapsed : 0;
    this.floor.slide(x + cycles * travel[0] - passed * ground[0], z + cycles * travel[1] - passed * ground[1]);
    this.scene.updateMatrixWorld();
    for (const { foot, disc, node, sole } of this.marks) {
      disc.visible = marking && node !== undefined && isDown(foot.spans, time, loops ? seconds : Infinity);
      if (disc.visible) disc.position.copy(sole).applyMatrix4(node.matrixWorld).setY(0.001);
    }
    if (this.bones.visible) this.bones.pose();
  }

  /** Where the camera looks, over the ground. */
  path(time) {
    const { path: points, seconds } = this.facts;
    const at = seconds ? (time / seconds) * (points.length - 1) : 0;
    const [a, b] = [points[Math.floor(at)], points[Math.ceil(at)]];
    const share = at - Math.floor(at);
    return [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])];
  }

  follow(on) {
    if (!on) this.anchor = { spot: this.path(this.now.time), cycles: this.now.cycles };
    this.following = on;
  }
}

/** The objects of a file by the numbers of their nodes. */
function numbered(associations) {
  const found = new Map();
  for (const [object, place] of associations) {
    if (object.isObject3D && place?.nodes !== undefined) found.set(place.nodes, object);
  }
  return found;
}

function isDown(spans, time, period) {
  return spans.some(([from, to]) => (from <= time && time < to) || time + period < to);
}

/** Three.js hides what leaves the box of the rest pose, and draws see-through parts in any order. */
function prepare(mesh) {
  const { material } = mesh;
  mesh.frustumCulled = false;
  mesh.castShadow = mesh.receiveShadow = true;
  material.depthWrite = true;
  material.metalness = 0; // metal shows its surroundings, and there are none
  material.roughness = Math.max(material.roughness, 0.55);
  if (material.map) material.map.anisotropy = 4;
}
