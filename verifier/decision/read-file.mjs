import { amountText } from '../evaluation/limits.mjs';
import { canonicalJson } from '../canonical-json.mjs';
import { isErased, isObject, memberFaults } from '../entry-check.mjs';
import { formOf, SEALED } from '../hashed-forms.mjs';
import { milliseconds } from '../evaluation/requirement.mjs';
import { parseStrictly } from '../strict-json.mjs';
import { isTime } from '../times.mjs';

/**
 * Reads a decision file: one JSON object in its RFC 8785 form.
 *
 * @typedef {Readonly<Record<string, any>>} Json an object of a file. Its members are `any`: their shapes are checked here.
 * @typedef {import('../findings.mjs').Findings} Findings
 * @typedef {{ hash: string, defaultEffect: string, evaluation: number, policies: string[] }} Rules
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 * @typedef {object} DecisionFile
 * @property {string} [executionId] absent in the file of a change
 * @property {string} [decisionId] the decision on the change; absent in the file of an execution
 * @property {string} checkpoint
 * @property {Json[]} entries
 * @property {Rules[]} rules
 * @property {Policy[]} policies
 */

const FORMAT = 'agent-governance-evidence/1';
/**
 * Versions of the rules of evaluation. The service raises the version when the rules change; a later version decides
 * the same about everything that an earlier one knew.
 */
export const EVALUATIONS = [1, 2, 3, 4];
/** Far above what any decision needs; more is not taken into memory. */
const MAX_BYTES = 64 * 2 ** 20;
const MAX_VALUES = 4_000_000;
const MAX_LEVELS = 100;

const ENTRY = [...SEALED, 'hash', 'detailsHash', 'audit', 'state', 'salts', 'proof'];
const RULES = ['defaultEffect', 'evaluation', 'hash', 'policies'];
const NOT_CONTENT = ['status', 'warnings', 'createdAt'];
const CONTENT = (formOf('policy')?.members ?? []).filter((name) => !NOT_CONTENT.includes(name));
const APPROVAL = ['approvers', 'decideWithin', 'executeWithin', 'riskLevel'];
const CONDITION = [
  ...['parameter', 'principal', 'clock', 'days', 'except', 'earlier', 'within', 'resource', 'claim', 'op', 'value'],
];
/** The operators for the principal and the resource. */
const OF_IDENTITY = ['eq', 'ne', 'in', 'not_in', 'domain', 'exists'];
const LIMIT = ['max', 'of', 'per', 'by', 'zone'];
const SCOPES = ['agent', 'policy', 'request'];
const PERIODS = ['hour', 'day', 'week', 'month'];
const OPERATORS = [
  ...['eq', 'ne', 'in', 'not_in', 'lt', 'lte', 'gt', 'gte'],
  ...['prefix', 'within', 'domain', 'exists', 'between', 'supports'],
];
const EFFECTS = ['allow', 'deny', 'require_approval'];
const REMOVING = ['entity.deleted', 'entity.erased', 'passkey.removed', 'webhook.deleted'];
/** Kinds of records whose contents are erased. */
const ERASED = ['claim', 'entity', 'execution', 'grant'];
const MAX_APPROVALS = 100;
/** The most conditions of a policy, and groups of a decision or a policy. */
const MAX_CONDITIONS = 20;
const MAX_GROUPS = 50;
const HASH = /^[0-9a-f]{64}$/;

/** A file that cannot be checked at all; the message says why. */
export class UnreadableFile extends Error {}

/**
 * @param {number} bytes of a file, which need not have been read
 * @throws {UnreadableFile}
 */
export function requireSize(bytes) {
  if (bytes > MAX_BYTES) throw new UnreadableFile(`it has ${bytes} bytes; a decision file has ${MAX_BYTES} at most`);
}

/**
 * @param {Uint8Array} bytes of a file
 * @throws {UnreadableFile}
 */
export function textIn(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw new UnreadableFile('it is not UTF-8');
    throw error;
  }
}

/**
 * @param {string} text
 * @param {Findings} findings faults of spelling and shape; with any of them the file is not to be used
 * @returns {DecisionFile | undefined}
 * @throws {UnreadableFile}
 */
export function readDecisionFile(text, findings) {
  requireBounded(text);
  const file = parseFile(text);
  if (!isObject(file) || file['format'] === undefined) throw new UnreadableFile('it is not a decision file');
  if (file['format'] !== FORMAT)
    throw new UnreadableFile(`its format is ${JSON.stringify(file['format'])}; this verifier knows ${FORMAT}`);
  const faults = [...spellingFaults(file, text), ...shapeFaults(file)];
  for (const fault of faults) findings.add('file', 'the file', fault);
  if (faults.length > 0) return undefined;
  return /** @type {DecisionFile} */ (/** @type {unknown} */ (file));
}

/** @param {string} text */
function parseFile(text) {
  try {
    return /** @type {unknown} */ (JSON.parse(text));
  } catch (error) {
    throw new UnreadableFile(
      `it is not JSON, or was cut off: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/**
 * Refuses JSON that is too deep or has too many values, before it is parsed: few bytes of JSON can need much memory.
 * @param {string} text
 */
function requireBounded(text) {
  let [values, levels] = [0, 0];
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') index = endOfString(text, index);
    else if (character === ',') values += 1;
    else if (character === '[' || character === '{') [values, levels] = [values + 1, levels + 1];
    else if (character === ']' || character === '}') levels -= 1;
    if (levels > MAX_LEVELS) throw new UnreadableFile(`it is deeper than ${MAX_LEVELS} levels`);
    if (values > MAX_VALUES) throw new UnreadableFile(`it holds more than ${MAX_VALUES} values`);
  }
}

/**
 * @param {string} text
 * @param {number} quote where the string begins
 */
function endOfString(text, quote) {
  let end = text.indexOf('"', quote + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

/**
 * @param {string} text
 * @param {number} quote
 */
function isEscaped(text, quote) {
  let first = quote;
  while (text[first - 1] === '\\') first -= 1;
  return (quote - first) % 2 === 1;
}

/**
 * @param {unknown} file
 * @param {string} text
 */
function spellingFaults(file, text) {
  const canonical = canonicalJson(file);
  if (canonical === text) return [];
  try {
    parseStrictly(text);
  } catch (error) {
    if (error instanceof SyntaxError) return [error.message];
    throw error;
  }
  let position = 0;
  while (position < text.length && text[position] === canonical[position]) position += 1;
  return [`it is not spelled as RFC 8785 says, from character ${position + 1} on`];
}

/** @param {Readonly<Record<string, unknown>>} file */
function shapeFaults(file) {
  const { checkpoint, entries, rules, policies } = file;
  const subject = Object.hasOwn(file, 'decisionId') ? 'decisionId' : 'executionId';
  return [
    ...memberFaults('it', file, ['checkpoint', 'entries', 'format', 'policies', 'rules', subject]),
    ...(typeof file[subject] === 'string' ? [] : [`${subject} is not a text`]),
    ...(typeof checkpoint === 'string' ? [] : ['checkpoint is not a text']),
    ...listFaults('entries', entries, (entry) => entryShapeFaults(entry, subject === 'decisionId')),
    ...listFaults('rules', rules, rulesShapeFaults),
    ...listFaults('policies', policies, policyShapeFaults),
    ...orderFaults('entries', entries, 'sequence'),
    ...orderFaults('policies', policies, 'id'),
  ];
}

/**
 * @param {string} name
 * @param {unknown} list
 * @param {(item: Json) => string[]} faultsOf
 * @returns {string[]}
 */
function listFaults(name, list, faultsOf) {
  if (!Array.isArray(list)) return [`${name} is not a list`];
  // The first faulty item is enough: a list can have millions of them.
  const index = list.findIndex((item) => !isObject(item) || faultsOf(item).length > 0);
  if (index === -1) return [];
  const item = /** @type {unknown} */ (list[index]);
  return (isObject(item) ? faultsOf(item) : ['is not an object']).map((fault) => `${name}[${index}] ${fault}`);
}

/**
 * @param {Json} entry
 * @param {boolean} isOfChange true in the file of a change, which may have made entries that were erased since
 */
function entryShapeFaults(entry, isOfChange) {
  const { audit, state, subjectType } = entry;
  const mayBeErased = isOfChange && (ERASED.includes(subjectType) || !isBuiltIn(entry));
  if (isErased(entry) && !mayBeErased) return ['was erased, so nothing can be recomputed from it'];
  if (isErased(entry)) return [...memberFaults('', entry, [...ENTRY, 'erased']), ...placeFaults(entry)];
  return [
    ...memberFaults('', entry, ENTRY),
    ...placeFaults(entry),
    ...(isObject(audit) && isObject(audit['details']) ? [] : ['has no details']),
    ...(isObject(state) || (state === null && mayBeRemoved(entry)) ? [] : ['has no state']),
    ...(subjectType === 'decision' && state?.approvers?.length > MAX_GROUPS
      ? ['has more groups than a decision can have']
      : []),
  ];
}

/** @param {Json} entry */
function placeFaults({ sequence, timestamp, audit, proof }) {
  return [
    ...(Number.isSafeInteger(sequence) && sequence > 0 ? [] : ['has no sequence']),
    ...(isTime(timestamp) ? [] : ['has no timestamp']),
    ...(isObject(audit) ? [] : ['has no audit entry']),
    ...(isListOf(proof, (hash) => HASH.test(String(hash))) ? [] : ['has no proof']),
  ];
}

/**
 * True if the record of an entry may be gone after it: a change may remove records.
 * @param {Json} entry
 */
function mayBeRemoved(entry) {
  return REMOVING.includes(entry['action']) || !isBuiltIn(entry);
}

/** @param {Json} entry */
function isBuiltIn({ subjectType }) {
  return formOf(subjectType) !== undefined;
}

/** @param {Json} rules */
function rulesShapeFaults({ defaultEffect, evaluation, policies, ...others }) {
  return [
    ...memberFaults('', { defaultEffect, evaluation, policies, ...others }, RULES),
    ...(['allow', 'deny'].includes(defaultEffect) ? [] : ['has an unknown default effect']),
    ...(EVALUATIONS.includes(evaluation)
      ? []
      : [
          `says that the rules of evaluation are number ${JSON.stringify(evaluation)}; this verifier knows ${EVALUATIONS.join(', ')}`,
        ]),
    ...(isListOf(policies, isText) ? [] : ['has no policies']),
  ];
}

/** @param {Json} policy */
function policyShapeFaults(policy) {
  const { effect, priority, conditions = [], limits = [], onBehalfOf = [], approval = null, team = null } = policy;
  const added = ['conditions', 'limits', 'onBehalfOf', 'approval', 'team'].filter((name) =>
    Object.hasOwn(policy, name),
  );
  const isFull = ['subjects', 'actions', 'resources', 'resourceTypes'].every((name) => isListOf(policy[name], isText));
  return [
    ...memberFaults('', policy, [...CONTENT, ...added]),
    ...(['id', 'name', 'version'].every((name) => isText(policy[name])) ? [] : ['has no id, name and version']),
    ...(isFull && EFFECTS.includes(effect) && Number.isInteger(priority) ? [] : ['is no policy']),
    ...(isListOf(conditions, isCondition, MAX_CONDITIONS) ? [] : ['has a condition that this verifier does not know']),
    ...(isListOf(limits, isLimit) && (limits.length === 0 || effect === 'allow')
      ? []
      : ['has a limit that this verifier does not know']),
    ...(isListOf(onBehalfOf, isText) ? [] : ['has no list of principals']),
    ...(team === null || isText(team) ? [] : ['has a team that is no text']),
    ...((effect === 'require_approval') === isApproval(approval) ? [] : ['has not the approval of its effect']),
  ];
}

/** @param {unknown} limit */
function isLimit(limit) {
  if (!isObject(limit) || !Object.keys(limit).every((name) => LIMIT.includes(name))) return false;
  const { max, of = '/', per, by, zone = 'UTC' } = limit;
  const isKnown = PERIODS.includes(String(per)) && SCOPES.includes(String(by));
  return amountText(max) !== null && isText(of) && isText(zone) && isKnown;
}

/** @param {unknown} condition */
function isCondition(condition) {
  if (!isObject(condition) || !Object.keys(condition).every((name) => CONDITION.includes(name))) return false;
  const { clock, days = [], except = [], earlier, within = null, resource = null, claim, op, value } = condition;
  if (!OPERATORS.includes(String(op)) || !isListOf(days, isText) || !isListOf(except, isText)) return false;
  if (claim !== undefined)
    return isText(claim) && op === 'supports' && isText(condition['parameter']) && typeof value === 'number';
  if (earlier !== undefined)
    return (
      isText(earlier) &&
      op === 'exists' &&
      typeof value === 'boolean' &&
      (resource === 'same' || resource === null) &&
      (within === null || (typeof within === 'string' && milliseconds(within) > 0))
    );
  if (op === 'between') return isText(clock) && isListOf(value, isText);
  if (['in', 'not_in'].includes(String(op)) && !Array.isArray(value)) return false;
  if (op === 'domain' && !isListOf(value, isText)) return false;
  if (isObject(value) && !isReference(value)) return false;
  return isReference(condition) && (isText(condition['parameter']) || OF_IDENTITY.includes(String(op)));
}

/**
 * True if it names one part of a request: a parameter, or a part of the principal or the resource.
 * @param {Json} reference
 */
function isReference({ parameter, principal, resource }) {
  const isPart = [isText(parameter), principal === 'id' || principal === 'type', resource === 'last'];
  const members = [parameter, principal, resource].filter((one) => one !== undefined);
  return members.length === 1 && isPart.includes(true);
}

/** @param {unknown} approval */
function isApproval(approval) {
  if (!isObject(approval)) return false;
  const { approvers, grant, ...others } = approval;
  return (
    (grant === undefined || isAllowance(grant)) &&
    Object.keys({ ...others, approvers })
      .sort()
      .join() === APPROVAL.join() &&
    Object.values(others).every(isText) &&
    [others['decideWithin'], others['executeWithin']].every(isDuration) &&
    isListOf(approvers, (group) => isObject(group) && isGroup(group), MAX_GROUPS)
  );
}

/** @param {unknown} allowance */
function isAllowance(allowance) {
  if (!isObject(allowance) || Object.keys(allowance).sort().join() !== 'for,uses,wider') return false;
  const { for: length, uses, wider } = allowance;
  return (
    isDuration(length) &&
    (uses === null || (Number.isSafeInteger(uses) && Number(uses) > 0)) &&
    typeof wider === 'boolean'
  );
}

/** @param {Json} group */
function isGroup(group) {
  const { subjects, approvals, signed = true, escalate = null, ...others } = group;
  return (
    Object.keys(others).length === 0 &&
    isListOf(subjects, isText) &&
    Number.isInteger(approvals) &&
    approvals >= 1 &&
    approvals <= MAX_APPROVALS &&
    signed === true &&
    (Object.hasOwn(group, 'escalate') ? isEscalation(escalate) : true)
  );
}

/** @param {unknown} escalation of a policy: without the time at which it took effect */
function isEscalation(escalation) {
  if (!isObject(escalation) || Object.keys(escalation).sort().join() !== 'after,subjects') return false;
  return isDuration(escalation['after']) && isListOf(escalation['subjects'], isText);
}

/**
 * @param {string} name
 * @param {unknown} list
 * @param {string} keyOf
 */
function orderFaults(name, list, keyOf) {
  if (!Array.isArray(list)) return [];
  const isBehind = list.some((item, index) => index > 0 && !(list[index - 1]?.[keyOf] < item?.[keyOf]));
  return isBehind ? [`${name} are not in the order of their ${keyOf}, each once`] : [];
}

/** @param {unknown} value */
function isDuration(value) {
  return typeof value === 'string' && milliseconds(value) > 0;
}

/** @param {unknown} value */
function isText(value) {
  return typeof value === 'string';
}

/**
 * @param {unknown} list
 * @param {(item: unknown) => boolean} is
 * @param {number} [most] items
 */
function isListOf(list, is, most = Infinity) {
  return Array.isArray(list) && list.length <= most && list.every(is);
}
