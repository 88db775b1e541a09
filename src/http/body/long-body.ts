import { TimeSlice } from '../../core/concurrency/time-slice';
import { invalidField, MOST_FAULTS } from '../../core/errors/domain-error';
import type { JsonValue } from '../../core/json/json-value';
import { type BodyRules, decodeUtf8, type JsonBody, parseText, requireObject, textFaults, valuesIn } from './json-body';
import { type BodyExtent, type ExtentBounds, type ItemGroup, readExtent } from './json-extent';

/** Bytes beyond which a body with items is parsed in pieces. */
export const LONG_BODY = 128 * 1024;

/** A list of the body, which is filled group by group. */
interface FilledList {
  readonly name: string;
  readonly items: JsonValue[];
}

/**
 * Parses a long body as `parseJsonBody` does, but serves other requests in between. First come the parts outside the
 * items of its lists, then the items in groups. `mostItemBytes` bounds both.
 */
export async function parseLongBody(bytes: Buffer, rules: BodyRules): Promise<JsonBody> {
  const { refusesRepeatedNames = false } = rules;
  const slice = new TimeSlice();
  const { values, levels, lists, excess } = await extentInSlices(bytes, rules, slice);
  if (excess !== undefined) throw invalidField('body', excess);
  const outline = outlineOf(bytes, lists);
  const value = requireObject(
    parseText(outline, (position) => textBefore(bytes, lists, outline, position)),
    levels,
  );
  const faults = textFaults(outline, refusesRepeatedNames);
  const filled = listsToFill(value, lists.length);
  for (const [index, groups] of lists.entries()) {
    const list = filled[index];
    for (const group of groups) {
      if (slice.isOver) await slice.next();
      const text = `[${decodeUtf8(bytes.subarray(group.from, group.to), true)}]`;
      const items = parseItems(text, group, bytes);
      if (list === undefined) continue;
      const isRepeated = refusesRepeatedNames && valuesIn(items) < group.values;
      const place = { name: list.name, first: list.items.length };
      if (faults.length < MOST_FAULTS) faults.push(...textFaults(text, isRepeated, place));
      for (const item of items) list.items.push(item);
    }
  }
  return { value, values, faults };
}

async function extentInSlices(bytes: Buffer, bounds: ExtentBounds, slice: TimeSlice): Promise<BodyExtent> {
  const reading = readExtent(bytes, bounds);
  let step = reading.next();
  while (step.done !== true) {
    if (slice.isOver) await slice.next();
    step = reading.next();
  }
  return step.value;
}

/** Returns the body with the number of each list in place of its items. */
function outlineOf(bytes: Buffer, lists: BodyExtent['lists']): string {
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const [index, groups] of lists.entries()) {
    const { start, end } = contentOf(groups);
    parts.push(bytes.subarray(from, start), Buffer.from(String(index)));
    from = end;
  }
  return decodeUtf8(Buffer.concat([...parts, bytes.subarray(from)]));
}

/** Returns the extent between the brackets of a list. */
function contentOf(groups: readonly ItemGroup[]): { readonly start: number; readonly end: number } {
  return { start: groups[0]?.from ?? 0, end: groups.at(-1)?.to ?? 0 };
}

/**
 * Empties the lists of the outline, and returns them by number. A list whose name is repeated in the body is
 * overwritten, and not in the result.
 */
function listsToFill(outline: Readonly<Record<string, JsonValue>>, count: number): readonly (FilledList | undefined)[] {
  const filled = Array<FilledList | undefined>(count).fill(undefined);
  for (const [name, member] of Object.entries(outline)) {
    if (!Array.isArray(member) || member.length === 0) continue;
    const items = member as JsonValue[];
    filled[Number(items.pop())] = { name, items };
  }
  return filled;
}

/** @throws VALIDATION_ERROR if the items are not JSON, or a comma has no item after it */
function parseItems(text: string, { from, items }: ItemGroup, body: Buffer): readonly JsonValue[] {
  const before = (position: number): string => {
    const offset = Buffer.byteLength(text.slice(1, position));
    return decodeUtf8(body.subarray(0, from + offset));
  };
  const parsed = parseText(text, before) as readonly JsonValue[];
  if (parsed.length !== items) throw invalidField('body', 'must be valid JSON: a comma in a list has no item after it');
  return parsed;
}

/** Returns the part of the body before a position of the outline. */
function textBefore(body: Buffer, lists: BodyExtent['lists'], outline: string, position: number): string {
  let offset = Buffer.byteLength(outline.slice(0, position));
  for (const [index, groups] of lists.entries()) {
    const { start, end } = contentOf(groups);
    if (offset > start) offset += end - start - String(index).length;
  }
  return decodeUtf8(body.subarray(0, offset));
}
