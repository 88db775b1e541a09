import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { roomBeside } from '../database/sqlite/sqlite-file';

/** Bytes that the write-ahead log may need at least while the copy is made, if somebody writes. */
const LEAST_LOG = 64 << 20;
/** And as a part of the database: the log of a service that writes all it can grew by a sixteenth of what was copied. */
const PART_OF_LOG = 8;

/**
 * Refuses a copy of so many bytes that its disk has no room for, and one that would leave the service, on the same disk, none
 * for its write-ahead log, which grows as long as the copy reads. Where the log has a disk of its own a backup is worth more
 * than a while without writes: `warn` is told.
 */
export async function checkRoom(
  database: string,
  copy: string,
  bytes: number,
  warn: (line: string) => void,
): Promise<void> {
  const log = Math.max(LEAST_LOG, Math.ceil(bytes / PART_OF_LOG));
  const isOneDisk = deviceOf(database) === deviceOf(copy);
  const [needed, room] = [isOneDisk ? bytes + log : bytes, await roomBeside(copy)];
  if (room < needed)
    throw new Error(`the disk has room for ${room} bytes, and ${needed} are needed. Name another place.`);
  if (isOneDisk) return;
  const left = await roomBeside(database);
  if (left >= log) return;
  warn(
    `The disk of the database has room for ${left} bytes. Its write-ahead log may need ${log} while the copy is made: ` +
      'a service that runs answers writes with 503 once the disk is full, until the backup has ended.',
  );
}

function deviceOf(path: string): number {
  return statSync(dirname(path)).dev;
}
