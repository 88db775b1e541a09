import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of some megabytes. */
export interface SmallDisk {
  readonly folder: string;
  /** Fills all remaining space except for some bytes. */
  fill(spare?: number): void;
  makeRoom(): void;
  /** Makes the disk read-only, or writable again. */
  setReadOnly(isReadOnly: boolean): void;
  setFileReadOnly(path: string, isReadOnly: boolean): void;
  remove(): void;
}

const SIZE = '24m';

/** For tests that need a file system of their own; skipped, visibly, if none may be mounted. */
export function describeWithSmallDisk(title: string, tests: () => void): void {
  if (canMount()) describe(title, tests);
  else describe.skip(`${title} (skipped: needs the right to mount a tmpfs)`, tests);
}

export function smallDisk(): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'governance-small-disk-'));
  run('mount', '-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', folder);
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: (spare = 0) => {
      fillUp(ballast);
      truncateSync(ballast, statSync(ballast).size - spare);
    },
    makeRoom: () => rmSync(ballast, { force: true }),
    setReadOnly: (isReadOnly) => run('mount', '-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, folder),
    setFileReadOnly: (path, isReadOnly) => {
      if (isReadOnly) run('mount', '--bind', path, path);
      if (isReadOnly) run('mount', '-o', 'remount,bind,ro', path);
      else run('umount', path);
    },
    remove: () => {
      run('umount', '-l', folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** To the last page. */
function fillUp(path: string): void {
  for (let size = 1 << 20; size >= 4096;) {
    try {
      appendFileSync(path, Buffer.alloc(size));
    } catch {
      size /= 2;
    }
  }
}

function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'governance-mount-'));
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status === 0;
  if (isMounted) spawnSync('umount', [folder]);
  rmSync(folder, { recursive: true, force: true });
  return isMounted;
}

function run(command: string, ...parameters: string[]): void {
  const { status, stderr } = spawnSync(command, parameters);
  if (status !== 0) throw new Error(`${command} failed: ${stderr.toString()}`);
}
