import { jsonForAnswer } from '../json/stored-json';
import type { JsonObject } from '../json/json-value';
import type { Slices } from '../time/slices';
import type { ListedEntry } from './entry-reader';
import type { StoredEntry } from './hash-chain';

/** An entry of a list with its details as JSON. */
export type AnsweredListedEntry = Omit<ListedEntry, 'details'> & { readonly details: JsonObject };

/** An entry with its details, and the state that it sealed, as JSON. */
export type AnsweredEntry = AnsweredListedEntry & { readonly state: JsonObject | null };

/** Throws SyntaxError where the details, which others may have altered, are no JSON. */
export async function answeredListedEntry(entry: ListedEntry, slices: Slices): Promise<AnsweredListedEntry> {
  return { ...entry, details: await jsonForAnswer<JsonObject>(entry.details, slices) };
}

/** Throws SyntaxError where details or state, which others may have altered, are no JSON. */
export async function answeredEntry(entry: StoredEntry, slices: Slices): Promise<AnsweredEntry> {
  const state = entry.state === null ? null : await jsonForAnswer<JsonObject>(entry.state, slices);
  return { ...(await answeredListedEntry(entry, slices)), state };
}
