import type { FieldFault } from '../errors/domain-error';
import type { JsonObject, JsonValue } from '../json/json-value';
import { Slices } from '../shared/slices';
import {
  EVALUATION_PARTS,
  evaluationOf,
  hasManyRoles,
  isObject,
  objectFaults,
  type ReadEvaluation,
  readParts,
  readPartsInSlices,
} from './access-evaluation';

export const MOST_EVALUATIONS = 1_000;

/** After which item the evaluation of a list stops. */
export const SEMANTICS = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const;
export type Semantic = (typeof SEMANTICS)[number];

/** An item of a list: an evaluation to answer, or what is wrong with it. */
export type ListedEvaluation = ReadEvaluation | { readonly faults: readonly FieldFault[] };

/** Whether a body is a single evaluation: it has no list, or an empty one. */
export function isSingle({ evaluations = null }: JsonObject): boolean {
  return evaluations === null || (Array.isArray(evaluations) && evaluations.length === 0);
}

/** What is wrong with a body apart from its evaluations. */
export function listFaults(body: JsonObject): FieldFault[] {
  const { evaluations, options } = body;
  return [
    ...evaluationsFaults(evaluations),
    ...objectFaults('options', options),
    ...semanticFaults(isObject(options) ? options['evaluations_semantic'] : undefined),
    ...(isSingle(body) ? [] : EVALUATION_PARTS.flatMap((part) => objectFaults(part, body[part]))),
  ];
}

/** How to process the list of a valid body. */
export function semanticOf({ options }: JsonObject): Semantic {
  const asked = isObject(options) ? options['evaluations_semantic'] : undefined;
  return SEMANTICS.find((semantic) => semantic === asked) ?? 'execute_all';
}

/**
 * The items of a list, read in chunks, with defaults from the members next to it: a member of an item replaces the default
 * as a whole.
 */
export async function listedEvaluations(body: JsonObject): Promise<ListedEvaluation[]> {
  const slices = new Slices();
  const defaults = await readPartsInSlices(body, slices);
  const items: ListedEvaluation[] = [];
  for (const item of (body['evaluations'] ?? []) as readonly JsonValue[]) {
    if (slices.areDue) await slices.next();
    if (!isObject(item)) items.push({ faults: [{ field: 'the evaluation', message: 'must be an object' }] });
    else if (hasManyRoles(item)) items.push(evaluationOf(await readPartsInSlices(item, slices, defaults)));
    else items.push(evaluationOf(readParts(item, defaults)));
  }
  return items;
}

/** Whether the list ends after an item with this decision. */
export function endsList(semantic: Semantic, decision: boolean): boolean {
  if (semantic === 'execute_all') return false;
  return decision === (semantic === 'permit_on_first_permit');
}

function evaluationsFaults(evaluations: JsonValue | undefined): FieldFault[] {
  if (evaluations === undefined || evaluations === null) return [];
  const message = `must be an array of at most ${MOST_EVALUATIONS} evaluations`;
  return Array.isArray(evaluations) && evaluations.length <= MOST_EVALUATIONS
    ? []
    : [{ field: 'evaluations', message }];
}

function semanticFaults(semantic: JsonValue | undefined): FieldFault[] {
  if (semantic === undefined || semantic === null || SEMANTICS.some((known) => known === semantic)) return [];
  return [{ field: 'options.evaluations_semantic', message: `must be one of ${SEMANTICS.join(', ')}` }];
}
