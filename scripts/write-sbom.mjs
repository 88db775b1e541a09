/**
 * Prints the bill of materials of what runs in production, from the lockfile, as CycloneDX JSON. npm makes it, for all
 * packages, since `--omit dev` leaves out those that development needs as well; the others are taken out here.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, root } from './run.mjs';

const DEVELOPMENT = 'cdx:npm:package:development';

function readJson(...path) {
  return JSON.parse(readFileSync(join(root, ...path), 'utf8'));
}

/** What the lockfile has for production, as `name@version`. */
function packagesInProduction() {
  const { packages } = readJson('package-lock.json');
  const locked = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  return new Set(locked.map(([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`));
}

/** The licences a package names in the way of before 2014, which npm does not read. */
function formerLicences(name) {
  const { licenses = [] } = readJson('node_modules', name, 'package.json');
  return licenses.map(({ type }) => ({ license: { id: type } }));
}

/** What production needs is not optional because development needs it too. */
function withoutMark(component) {
  const properties = component.properties.filter(({ name }) => name !== DEVELOPMENT);
  const isMarked = properties.length < component.properties.length;
  return isMarked ? { ...component, scope: 'required', properties } : component;
}

/** The bill as an object. */
export function billOfMaterials() {
  const format = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26, stdio: ['ignore', 'pipe', 'inherit'] };
  const bill = JSON.parse(execFileSync('npm', ['sbom', '--silent', ...format], options));
  const kept = packagesInProduction();
  bill.components = bill.components.filter(({ name, version }) => kept.has(`${name}@${version}`)).map(withoutMark);
  for (const component of bill.components) component.licenses ??= formerLicences(component.name);
  const known = new Set([bill.metadata.component['bom-ref'], ...bill.components.map((found) => found['bom-ref'])]);
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => known.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => known.has(other)) }));
  // npm takes the name of the folder.
  bill.metadata.component.name = readJson('package.json').name;
  return bill;
}

if (isMain(import.meta.url)) console.log(JSON.stringify(billOfMaterials(), null, 2));
