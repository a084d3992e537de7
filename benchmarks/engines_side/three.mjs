// Where three.js has every node of a .glb at some times: node three.mjs JOB.json, run where `three` is installed.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
const found = (name) => import(pathToFileURL(path.resolve("node_modules", name)).href);
globalThis.self = globalThis;
const THREE = await found("three/build/three.module.js");
const { GLTFLoader } = await found("three/examples/jsm/loaders/GLTFLoader.js");
const job = JSON.parse(fs.readFileSync(process.argv[2]));
const data = fs.readFileSync(job.path);
const buffer = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
const gltf = await new Promise((done, fail) => new GLTFLoader().parse(buffer, "", done, fail));
const clip = gltf.animations.find((each) => each.name === job.clip);
const places = [];
if (clip) {
  const mixer = new THREE.AnimationMixer(gltf.scene);
  mixer.clipAction(clip).setLoop(THREE.LoopOnce).play().clampWhenFinished = true;
  for (const time of job.times) {
    mixer.setTime(Math.min(time, clip.duration - 1e-6));
    gltf.scene.updateMatrixWorld(true);
    const frame = {};
    gltf.scene.traverse((object) => {
      const index = gltf.parser.associations.get(object)?.nodes;
      if (index !== undefined) frame[index] = new THREE.Vector3().setFromMatrixPosition(object.matrixWorld).toArray();
    });
    places.push(frame);
  }
}
fs.writeFileSync(job.output, JSON.stringify({ names: gltf.animations.map((each) => each.name), places }));
