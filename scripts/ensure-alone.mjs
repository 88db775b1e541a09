import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Milliseconds. No work takes as long, so an older claim was left behind, and another process may have the number of
 * its process now.
 */
const LONGEST_WORK = 10 * 60_000;
/** Milliseconds after which a waiting process says for what it waits. */
const SILENCE = 5_000;
const PAUSE = 100;

/**
 * Does the work under a lock: waits until no other process works under the same lock. The lock is a folder with the
 * claims of processes. A process makes its claim, under a name that is never used again, and only then looks for other
 * claims, so that of two processes at least one sees the other. A process that sees another claim withdraws its own and
 * tries again. The claim of a process that has ended does not count. Any process may remove it: since names are never
 * used again, this cannot remove another claim.
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
    // Two processes that have seen each other try again at different times.
    await sleep(PAUSE * (0.5 + Math.random()));
  }
  const release = () => withdraw(lock, own);
  // A command that fails exits the process without `finally`.
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

/** Tries to take the lock; true if this process holds it now. */
function isTaken(lock, own) {
  if (holderOf(lock, own) !== null) return false;
  try {
    mkdirSync(lock, { recursive: true });
    writeFileSync(join(lock, own), '', { flag: 'wx' });
  } catch (error) {
    // The last holder has just removed the folder.
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
    // The folder has claims of others, or is gone.
  }
}

/**
 * Returns another process that may be at work; null if there is none. Removes the claims of processes that are not at
 * work.
 */
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

/**
 * True if the process of a claim may be at work. Another claim with the number of this process is that of an earlier
 * process.
 */
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
