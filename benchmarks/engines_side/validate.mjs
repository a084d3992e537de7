// What Khronos' validator says of a .glb: node validate.mjs JOB.json, run where `gltf-validator` is installed.
import fs from "node:fs";
import { createRequire } from "node:module";
const require = createRequire(process.cwd() + "/");
const job = JSON.parse(fs.readFileSync(process.argv[2]));
const report = await require("gltf-validator").validateBytes(new Uint8Array(fs.readFileSync(job.path)));
const errors = report.issues.messages.filter((each) => each.severity === 0).map((each) => `${each.code} ${each.pointer}`);
fs.writeFileSync(job.output, JSON.stringify({ errors }));
