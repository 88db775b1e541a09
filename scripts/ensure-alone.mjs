import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds. No work takes as long: an older lock was left behind, and the number of its process may be another's now. */
const LONGEST_WORK = 10 * 60_000;
/** Milliseconds after which whoever waits is told why. */
const SILENCE = 5_000;
const PAUSE = 100;
/** Milliseconds for which a lock may be empty while it is taken. */
const TAKING = 1_000;

/**
 * Does the work while no other process does work under the same lock, a file; it waits for one that does. The lock of a process that
 * has ended does not count.
 */
export async function ensureAlone(lock, work) {
  for (let waited = 0; !isTaken(lock); waited += PAUSE) {
    if (waited === SILENCE) console.error(`Waiting for the process ${holderOf(lock)}, which holds ${lock}`);
    await sleep(PAUSE);
  }
  const release = () => {
    if (holderOf(lock) === process.pid) rmSync(lock, { force: true });
  };
  // A command that fails ends the process.
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

/** Whether it is ours now. */
function isTaken(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (!isHeld(lock)) rmSync(lock, { force: true });
    return false;
  }
}

/** Whether the process that took it may be at work. We are not, whatever an earlier process with our number left. */
function isHeld(lock) {
  const taken = statSync(lock, { throwIfNoEntry: false });
  if (taken === undefined) return false;
  const age = Date.now() - taken.mtimeMs;
  const holder = holderOf(lock);
  if (holder === null) return age < TAKING;
  return age < LONGEST_WORK && holder !== process.pid && isRunning(holder);
}

/** Null where it is empty, or released. */
function holderOf(lock) {
  try {
    return Number(readFileSync(lock, 'utf8')) || null;
  } catch {
    return null;
  }
}

function isRunning(holder) {
  try {
    return process.kill(holder, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
