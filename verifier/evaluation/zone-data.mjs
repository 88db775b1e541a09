import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * The IANA database: `zones.json` next to the verifier's `main.mjs`, which a copy of the folder needs, or else that of
 * the package `moment-timezone`.
 *
 * @typedef {{ version: string, zones: string[], links: string[] }} Zones
 */

/** @type {Zones} */
export const ZONES = readZones();

/** @returns {Zones} */
function readZones() {
  const copy = fileURLToPath(new URL('../zones.json', import.meta.url));
  try {
    const path = existsSync(copy)
      ? copy
      : createRequire(import.meta.url).resolve('moment-timezone/data/packed/latest.json');
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { version: 'none', zones: [], links: [] };
  }
}
