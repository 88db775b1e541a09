import { createRequire } from 'node:module';

/**
 * Packages that keep module-level state: with two copies, a module and the service do not see each other's
 * registrations.
 */
const SHARED =
  /^(.*[\\/]node_modules[\\/](@nestjs[\\/][^\\/]+|typeorm|class-validator|class-transformer|reflect-metadata))[\\/]/;

/** What is wrong with the files that a process has loaded: a package that is loaded twice. Null: nothing. */
export function secondCopy(files: Iterable<string>): string | null {
  const folders = new Map<string, string>();
  for (const file of files) {
    const [, folder, path] = SHARED.exec(file) ?? [];
    if (folder === undefined || path === undefined) continue;
    const name = path.replace('\\', '/');
    const known = folders.get(name) ?? folder;
    folders.set(name, known);
    if (known !== folder) return `There are two copies of ${name}: ${known} and ${folder}. ${REMEDY}`;
  }
  return null;
}

const REMEDY = 'Depend on exactly the version that the service depends on, so that npm installs only one.';

/** @throws if a package that the modules share with the service is loaded twice. */
export function refuseSecondCopies(): void {
  const nest = createRequire(require.resolve('@nestjs/common'));
  // Nest loads these two when it first validates.
  const loadedLater = ['class-validator', 'class-transformer'].map((name) => nest.resolve(name));
  const fault = secondCopy([...Object.keys(require.cache), ...loadedLater]);
  if (fault !== null) throw new Error(fault);
}
