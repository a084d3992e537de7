// Where Babylon.js has every node of a .glb at some times: node babylon.mjs JOB.json, run where it is installed.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
const found = (name) => import(pathToFileURL(path.resolve("node_modules", name)).href);
globalThis.XMLHttpRequest = class {};
const BABYLON = await found("@babylonjs/core/index.js");
await found("@babylonjs/loaders/glTF/2.0/index.js");
const job = JSON.parse(fs.readFileSync(process.argv[2]));
const scene = new BABYLON.Scene(new BABYLON.NullEngine());
scene.useRightHandedSystem = true;
new BABYLON.FreeCamera("camera", BABYLON.Vector3.Zero(), scene);
const url = "data:model/gltf-binary;base64," + fs.readFileSync(job.path).toString("base64");
const loaded = await BABYLON.SceneLoader.ImportMeshAsync("", "", url, scene, undefined, ".glb");
const group = loaded.animationGroups.find((each) => each.name === job.clip);
loaded.animationGroups.forEach((each) => each.stop());
const places = [];
if (group) {
  const rate = group.targetedAnimations[0].animation.framePerSecond;
  group.start(false);
  group.pause();
  for (const time of job.times) {
    group.goToFrame(Math.min(time * rate, group.to));
    scene.render();
    const frame = {};
    for (const node of [...loaded.transformNodes, ...loaded.meshes]) {
      node.computeWorldMatrix(true);
      for (const pointer of node._internalMetadata?.gltf?.pointers ?? []) {
        const index = /^\/nodes\/(\d+)$/.exec(pointer)?.[1];
        if (index !== undefined) frame[index] = node.getAbsolutePosition().asArray();
      }
    }
    places.push(frame);
  }
}
fs.writeFileSync(job.output, JSON.stringify({ names: loaded.animationGroups.map((each) => each.name), places }));
process.exit(0);
