import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds. No work takes as long: an older claim was left behind, and the number of its process may be another's now. */
const LONGEST_WORK = 10 * 60_000;
/** Milliseconds after which whoever waits learns why. */
const SILENCE = 5_000;
const PAUSE = 100;

/**
 * Does the work while no other process does work under the same lock, and waits for one that does. The lock is a folder with the
 * claims of processes. Each makes its own, under a name that is never used again, and only then looks for others: so of two, one
 * sees the other. Whoever does withdraws and tries again. The claim of a process that has ended does not count, and whoever removes
 * it cannot remove another's.
 */
export async function ensureAlone(lock, work) {
  const own = `${process.pid}.${randomUUID()}`;
  const began = Date.now();
  let hasSaidSo = false;
  while (!isTaken(lock, own)) {
    const holder = holderOf(lock, own);
    if (!hasSaidSo && holder !== null && Date.now() - began >= SILENCE) {
      hasSaidSo = true;
      console.error(`Waiting for the process ${holder}, which holds ${lock}`);
    }
    // Two that have seen each other try again at different times.
    await sleep(PAUSE * (0.5 + Math.random()));
  }
  const release = () => withdraw(lock, own);
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
function isTaken(lock, own) {
  if (holderOf(lock, own) !== null) return false;
  try {
    mkdirSync(lock, { recursive: true });
    writeFileSync(join(lock, own), '', { flag: 'wx' });
  } catch (error) {
    // Whoever had it has just removed the folder.
    if (error.code === 'ENOENT') return false;
    throw error;
  }
  if (holderOf(lock, own) === null) return true;
  withdraw(lock, own);
  return false;
}

function withdraw(lock, own) {
  rmSync(join(lock, own), { force: true });
  try {
    rmdirSync(lock);
  } catch {
    // Others have claims in it, or it is gone.
  }
}

/** Another process that may be at work; null if there is none. Removes the claims of those that are not. */
function holderOf(lock, own) {
  for (const claim of claimsIn(lock)) {
    if (claim === own) continue;
    if (isHeld(lock, claim)) return processOf(claim);
    rmSync(join(lock, claim), { force: true });
  }
  return null;
}

function claimsIn(lock) {
  try {
    return readdirSync(lock);
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Another claim with our number is that of an earlier process. */
function isHeld(lock, claim) {
  const made = statSync(join(lock, claim), { throwIfNoEntry: false });
  if (made === undefined || Date.now() - made.mtimeMs >= LONGEST_WORK) return false;
  const holder = processOf(claim);
  return holder !== process.pid && isRunning(holder);
}

function processOf(claim) {
  return Number.parseInt(claim, 10);
}

function isRunning(holder) {
  try {
    return process.kill(holder, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
