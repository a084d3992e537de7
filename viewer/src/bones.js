// The skeleton, as bars from joint to joint; drawn after everything else, so that it is seen through the body.
import {
  DirectionalLight,
  HemisphereLight,
  InstancedMesh,
  Matrix4,
  MeshLambertMaterial,
  OctahedronGeometry,
  Quaternion,
  Scene,
  Vector3,
} from "three";

const UP = new Vector3(0, 1, 0);
const WAIST = 0.15; // where a bar is widest, along its length
const [THIN, THICK] = [0.004, 0.018];

export class Bones extends Scene {
  /** bars: [node, node or point in its space] each; nodes: objects by the number of their node. */
  constructor(bars, nodes) {
    super();
    this.bars = bars.map(([from, to]) => ({
      from: nodes.get(from),
      to: Array.isArray(to) ? nodes.get(from) : nodes.get(to),
      tip: Array.isArray(to) ? new Vector3(...to) : new Vector3(),
    }));
    const material = new MeshLambertMaterial({ color: "#ffa033", flatShading: true, toneMapped: false });
    this.mesh = new InstancedMesh(bar(), material, bars.length);
    this.mesh.frustumCulled = false;
    const sun = new DirectionalLight("#ffffff", 1.6);
    sun.position.set(-1, 2, 1);
    this.add(this.mesh, sun, new HemisphereLight("#ffffff", "#cccccc", 1.8));
    this.visible = false;
  }

  pose() {
    const [head, tip, turn, matrix] = [new Vector3(), new Vector3(), new Quaternion(), new Matrix4()];
    this.bars.forEach(({ from, to, tip: local }, number) => {
      head.setFromMatrixPosition(from.matrixWorld);
      tip.copy(local).applyMatrix4(to.matrixWorld).sub(head);
      const length = tip.length();
      const width = Math.min(Math.max(0.1 * length, THIN), THICK);
      turn.setFromUnitVectors(UP, tip.normalize());
      this.mesh.setMatrixAt(number, matrix.compose(head, turn, new Vector3(width, length, width)));
    });
    this.mesh.instanceMatrix.needsUpdate = true;
  }
}

/** Along y from 0 to 1. */
function bar() {
  const shape = new OctahedronGeometry(1);
  const places = shape.attributes.position;
  for (let i = 0; i < places.count; i++) places.setY(i, places.getY(i) > 0.5 ? 1 : places.getY(i) < -0.5 ? 0 : WAIST);
  return shape;
}
