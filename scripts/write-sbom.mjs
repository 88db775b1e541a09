/**
 * Prints the bill of materials of production, including the console's bundle, from the lockfiles, as CycloneDX JSON.
 * npm generates it for all packages, and this program removes those of development: npm's `--omit dev` would also leave
 * out packages that production and development need.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, root } from './run.mjs';

const DEVELOPMENT = 'cdx:npm:package:development';

function readJson(...path) {
  return JSON.parse(readFileSync(join(root, ...path), 'utf8'));
}

/** The production packages in the lockfile of a folder, as `name@version`. */
function packagesInProduction(folder) {
  const { packages } = readJson(folder, 'package-lock.json');
  const locked = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  return new Set(locked.map(([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`));
}

/** The licences of a package in the format used before 2014, which npm does not read. */
function formerLicences(folder, name) {
  const { licenses = [] } = readJson(folder, 'node_modules', name, 'package.json');
  return licenses.map(({ type }) => ({ license: { id: type } }));
}

/**
 * Removes npm's mark of a development package: a package that production needs is required even if development needs
 * it, too.
 */
function withoutMark(component) {
  const properties = component.properties.filter(({ name }) => name !== DEVELOPMENT);
  const isMarked = properties.length < component.properties.length;
  return isMarked ? { ...component, scope: 'required', properties } : component;
}

/** The bill of materials of one folder only. */
function billOf(folder) {
  const format = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
  const options = {
    cwd: join(root, folder),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  };
  const bill = JSON.parse(execFileSync('npm', ['sbom', '--silent', ...format], options));
  const kept = packagesInProduction(folder);
  bill.components = bill.components.filter(({ name, version }) => kept.has(`${name}@${version}`)).map(withoutMark);
  for (const component of bill.components) component.licenses ??= formerLicences(folder, component.name);
  return bill;
}

/** Returns the bill as an object: the installed packages, and those in the bundle of the console. */
export function billOfMaterials() {
  const [bill, bundled] = ['.', 'console'].map(billOf);
  const own = bill.metadata.component['bom-ref'];
  const inBundle = bundled.metadata.component['bom-ref'];
  const installed = new Set(bill.components.map((found) => found['bom-ref']));
  bill.components.push(...bundled.components.filter((found) => !installed.has(found['bom-ref'])));
  const known = new Set([own, ...bill.components.map((found) => found['bom-ref'])]);
  const needs = new Map();
  for (const { ref, dependsOn } of [...bill.dependencies, ...bundled.dependencies]) {
    // The service needs the packages of the bundle.
    const user = ref === inBundle ? own : ref;
    if (known.has(user))
      needs.set(user, [...(needs.get(user) ?? []), ...dependsOn.filter((other) => known.has(other))]);
  }
  bill.dependencies = [...needs].map(([ref, dependsOn]) => ({ ref, dependsOn: [...new Set(dependsOn)] }));
  // npm writes the name of the folder here.
  bill.metadata.component.name = readJson('package.json').name;
  return bill;
}

if (isMain(import.meta.url)) console.log(JSON.stringify(billOfMaterials(), null, 2));
