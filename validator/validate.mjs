// Validate glTF files with Khronos' glTF-Validator: paths on standard input, one a line; one line of JSON out for each.
import { readFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { text } from "node:stream/consumers";
import validator from "gltf-validator";

for (const path of (await text(process.stdin)).split("\n").filter(Boolean)) {
  const report = await validator.validateBytes(new Uint8Array(await readFile(path)), {
    uri: basename(path),
    maxIssues: 100000,
    externalResourceFunction: async (uri) =>
      new Uint8Array(await readFile(resolve(dirname(path), decodeURIComponent(uri)))),
  });
  console.log(JSON.stringify(report.issues.messages));
}
