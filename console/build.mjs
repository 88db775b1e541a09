import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { zonesUntil2100 } from './zone-years.mjs';

// Writes the bundle that the service serves, and that is committed; into another folder if the command line names one.
const folder = fileURLToPath(new URL('.', import.meta.url));
const target = process.argv[2] ?? join(folder, '..', 'src', 'operations', 'console', 'assets');
const MOST_ON_ICON = 9;
/** Bytes of the largest file: that of decision files, with the zones up to 2100. */
const MAX_FILE_BYTES = 320 * 1024;
const SCRIPT = 'src/main.tsx';
const STYLE = 'src/styles/console.css';

const { outputFiles, metafile } = await build({
  absWorkingDir: folder,
  entryPoints: [
    { in: SCRIPT, out: 'console' },
    { in: STYLE, out: 'console' },
  ],
  outdir: '.',
  entryNames: '[name].[hash]',
  chunkNames: '[name].[hash]',
  write: false,
  bundle: true,
  // Code that only a dropped file needs is loaded by the screen that takes the file.
  splitting: true,
  metafile: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  plugins: [{ name: 'primitives', setup: takePrimitivesOfPages }],
});
const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const bundled = Object.keys(metafile.inputs).flatMap(
  (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
);
// The bill of materials lists exactly the bundled packages.
const unlisted = bundled.filter((name) => !(name in dependencies));
if (unlisted.length > 0) throw new Error(`The bundle holds ${unlisted[0]}, which is not a dependency of the console.`);
/** Maps bundled packages to the files of their licences. */
const LICENCES = { preact: 'LICENSE', '@simplewebauthn/browser': 'LICENSE.md' };

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const icons = Array.from({ length: MOST_ON_ICON + 2 }, (_, count) => placedIcon(count));
const [script, style] = [SCRIPT, STYLE].map(pathOf);
for (const { path, text } of outputFiles) {
  const { length } = Buffer.from(text);
  if (length > MAX_FILE_BYTES) throw new Error(`${basename(path)} has ${length} bytes, more than ${MAX_FILE_BYTES}.`);
  writeFileSync(join(target, basename(path)), licencesOf(path) + text);
}
writeFileSync(join(target, 'index.html'), page());

/**
 * Replaces two modules of the offline verifier, with which the page recomputes: one has a form for pages, and the other
 * gets the zones of the release.
 */
function takePrimitivesOfPages({ onResolve, onLoad }) {
  const path = join(folder, '..', 'verifier', 'primitives-browser.mjs');
  onResolve({ filter: /\/primitives\.mjs$/ }, () => ({ path }));
  const zones = createRequire(join(folder, '..', 'package.json')).resolve('moment-timezone/data/packed/latest.json');
  onLoad({ filter: /verifier\/evaluation\/zone-data\.mjs$/ }, () => {
    const { version, zones: texts, links } = JSON.parse(readFileSync(zones, 'utf8'));
    return { contents: `export const ZONES = ${JSON.stringify({ version, zones: zonesUntil2100(texts), links })};` };
  });
}

/**
 * Returns the licences of the packages in a file. That of Preact, which many files include, is in the file that is
 * loaded first.
 */
function licencesOf(path) {
  const { inputs, entryPoint } = metafile.outputs[basename(path)];
  const names = Object.keys(LICENCES).filter((name) =>
    name === 'preact' ? entryPoint === SCRIPT : Object.keys(inputs).some((input) => input.includes(`/${name}/`)),
  );
  return names
    .map(
      (name) =>
        `/*! Includes ${name}:\n${readFileSync(join(folder, 'node_modules', name, LICENCES[name]), 'utf8')}*/\n`,
    )
    .join('');
}

/** Returns the path on the service of the file that an entry point became. */
function pathOf(entryPoint) {
  const [file] = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === entryPoint);
  return `/console/assets/${basename(file)}`;
}

/** Writes an icon under a name that changes with its content, and returns its path on the service. */
function placedIcon(count) {
  const text = icon(count);
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 10);
  const file = `icon-${count}.${hash}.svg`;
  writeFileSync(join(target, file), text);
  return `/console/assets/${file}`;
}

/** A shield, with a number if something waits; one icon covers all numbers above nine. */
function icon(count) {
  const shield = '<path fill="#4f46e5" d="M16 2 4 6.5v9C4 23 9 28.500 16 30.500 23 28.500 28 23 28 15.500v-9z"/>';
  const tick = '<path fill="none" stroke="#fff" stroke-width="3" d="m10.500 16 4 4 7.500-8"/>';
  const text = count > MOST_ON_ICON ? `${MOST_ON_ICON}+` : String(count);
  const number = `<circle cx="21" cy="21" r="11" fill="#dc2626"/><text x="21" y="26.500" font-family="sans-serif" font-size="15" font-weight="700" text-anchor="middle" fill="#fff">${text}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${shield}${count === 0 ? tick : number}</svg>\n`;
}

function page() {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="referrer" content="no-referrer" />
    <!-- settings -->
    <title>Governance console</title>
${icons.map((path, count) => `    <link rel="${count === 0 ? 'icon' : 'alternate'}" type="image/svg+xml" data-count="${count}" href="${path}" />`).join('\n')}
    <link rel="stylesheet" href="${style}" />
    <script type="module" src="${script}"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>The console needs JavaScript. Everything it shows is in the API, too: see /docs.</noscript>
  </body>
</html>
`;
}
