// The ground: tiles that fade away with the distance and take the shadow. From below nothing of it is seen, so that one
// can look at the soles. The tiles can pass below the character, which shows at once whether its feet slide.
import { CircleGeometry, Color, Mesh, ShadowMaterial, Vector2 } from "three";

const REACH = 7;

const PATTERN = /* glsl */ `
uniform vec3 tile;
uniform vec3 line;
uniform vec2 offset;
uniform float cell;
varying vec2 spot;
varying float away;

// Integral of a square wave, so that far tiles melt into an even tone instead of flickering.
vec2 wave(vec2 at) { return 2.0 * abs(fract(at * 0.5) - 0.5); }

vec3 pattern() {
  vec2 at = (spot + offset) / cell;
  vec2 wide = max(fwidth(spot / cell), 1e-4);
  vec2 checks = (wave(at - 0.5 * wide) - wave(at + 0.5 * wide)) / wide;
  float odd = 0.5 - 0.5 * checks.x * checks.y;
  vec2 near = abs(fract(at - 0.5) - 0.5) / wide;
  float drawn = (1.0 - clamp(min(near.x, near.y) - 0.2, 0.0, 1.0)) * (1.0 - smoothstep(0.08, 0.4, max(wide.x, wide.y)));
  return mix(mix(color, tile, odd), line, 0.7 * drawn);
}
`;

export class Floor extends Mesh {
  constructor() {
    super(new CircleGeometry(REACH, 48).rotateX(-Math.PI / 2), new ShadowMaterial({ toneMapped: false }));
    this.receiveShadow = true;
    this.uniforms = {
      tile: { value: new Color() },
      line: { value: new Color() },
      offset: { value: new Vector2() },
      cell: { value: 0.25 },
    };
    this.material.depthWrite = true;
    this.material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, this.uniforms);
      shader.vertexShader = shader.vertexShader
        .replace("void main() {", "varying vec2 spot;\nvarying float away;\nvoid main() {")
        .replace(
          "#include <fog_vertex>",
          `spot = (modelMatrix * vec4(position, 1.0)).xz;\naway = length(position.xz) / ${REACH.toFixed(1)};`,
        );
      shader.fragmentShader = shader.fragmentShader
        .replace("void main() {", `${PATTERN}\nvoid main() {`)
        .replace(
          /gl_FragColor = .*;/,
          `float dark = 0.42 * (1.0 - getShadowMask());
           gl_FragColor = vec4(pattern() * (1.0 - dark), 1.0 - smoothstep(0.12, 1.0, away));`,
        );
    };
  }

  paint(color, tile, line) {
    this.material.color.set(color);
    this.uniforms.tile.value.set(tile);
    this.uniforms.line.value.set(line);
  }

  /** Move the tiles; the remainder keeps far ways exact. */
  slide(x, z) {
    const period = 2 * this.uniforms.cell.value;
    this.uniforms.offset.value.set(x % period, z % period);
  }
}
