import { KINDS } from './hashed-forms.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

/** Kinds of the service, without those that `--kinds` adds: records of a module may have times in another form. */
const BUILT_IN = Object.keys(KINDS);
const FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u;
/** Matches the names of members that are times, or null. */
const TIME_NAME = /(?:At|Until)$|^(?:from|until)$/u;

/**
 * True for a time as the service writes it: ISO 8601 in UTC with milliseconds. Only times of this form compare as
 * texts.
 * @param {unknown} value
 */
export function isTime(value) {
  if (typeof value !== 'string' || !FORM.test(value)) return false;
  const time = new Date(value);
  return !Number.isNaN(time.getTime()) && time.toISOString() === value;
}

/**
 * Finds times of an entry, and of the state that it leaves, in another form.
 * @param {JsonObject} entry
 * @param {JsonObject | null} state null if there is none
 * @returns {string[]} faults
 */
export function timeFaults({ timestamp, subjectType }, state) {
  const isBuiltIn = BUILT_IN.includes(String(subjectType));
  const times = Object.entries(isBuiltIn ? (state ?? {}) : {}).filter(([name]) => TIME_NAME.test(name));
  const names = times.filter(([, value]) => value !== null && !isTime(value)).map(([name]) => `state.${name}`);
  return [...(isTime(timestamp) ? [] : ['timestamp']), ...names].map(
    (name) => `${name} is not a time such as 2026-01-31T12:00:00.000Z`,
  );
}
