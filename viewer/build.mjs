// Bundles src/player.js and what it needs of three.js into one classic script, with three's licence at its head.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const read = (relative) => readFileSync(path(relative), "utf8");

const { version } = JSON.parse(read("node_modules/three/package.json"));
const licence = read("node_modules/three/LICENSE").trim();

// So that a test can tell a bundle that was not made again after a change.
const digest = createHash("sha256");
const sources = readdirSync(path("src")).sort();
for (const name of ["package-lock.json", ...sources.map((name) => `src/${name}`)]) digest.update(read(name));

const head = `/*! Made by "make viewer" from viewer/src and three.js ${version}; do not edit.
Sources: ${digest.digest("hex")}

three.js: ${licence}
*/`;

await build({
  entryPoints: [path("src/player.js")],
  outfile: path("../src/gambol/quality/player.js"),
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  charset: "ascii",
  legalComments: "none",
  banner: { js: head },
  logLevel: "info",
});
