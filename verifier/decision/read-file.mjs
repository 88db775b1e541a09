import { amountText } from '../evaluation/limits.mjs';
import { canonicalJson } from '../canonical-json.mjs';
import { isObject, memberFaults } from '../entry-check.mjs';
import { KINDS, SEALED } from '../hashed-forms.mjs';
import { milliseconds } from '../evaluation/requirement.mjs';
import { parseStrictly } from '../strict-json.mjs';

/**
 * Reads a decision file: one JSON object in its RFC 8785 form.
 *
 * @typedef {Readonly<Record<string, any>>} Json an object of a file. Its members are `any`: their shapes are checked here.
 * @typedef {import('../findings.mjs').Findings} Findings
 * @typedef {{ hash: string, defaultEffect: string, evaluation: number, policies: string[] }} Rules
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 * @typedef {object} DecisionFile
 * @property {string} executionId
 * @property {string} checkpoint
 * @property {Json[]} entries
 * @property {Rules[]} rules
 * @property {Policy[]} policies
 */

const FORMAT = 'agent-governance-evidence/1';
/** Raised by the service when the rules of evaluation change. What earlier rules knew, later ones decide alike. */
const EVALUATIONS = [1, 2, 3];
/** Far above what any decision needs; more is not taken into memory. */
const MOST_BYTES = 64 * 2 ** 20;
const MOST_VALUES = 4_000_000;
const MOST_LEVELS = 100;

const ENTRY = [...SEALED, 'hash', 'detailsHash', 'audit', 'state', 'salts', 'proof'];
const RULES = ['defaultEffect', 'evaluation', 'hash', 'policies'];
const NOT_CONTENT = ['status', 'warnings', 'createdAt'];
const CONTENT = (KINDS['policy']?.members ?? []).filter((name) => !NOT_CONTENT.includes(name));
const APPROVAL = ['approvers', 'decideWithin', 'executeWithin', 'riskLevel'];
const CONDITION = ['parameter', 'clock', 'days', 'earlier', 'within', 'resource', 'claim', 'op', 'value'];
const LIMIT = ['max', 'of', 'per', 'by'];
const PERIODS = ['hour', 'day', 'week', 'month'];
const OPERATORS = [
  'eq',
  'ne',
  'in',
  'not_in',
  'lt',
  'lte',
  'gt',
  'gte',
  'prefix',
  'within',
  'exists',
  'between',
  'supports',
];
const EFFECTS = ['allow', 'deny', 'require_approval'];
const HASH = /^[0-9a-f]{64}$/;

/** A file of which nothing can be said but why. */
export class UnreadableFile extends Error {}

/**
 * @param {number} bytes of a file, which need not have been read
 * @throws {UnreadableFile}
 */
export function requireSize(bytes) {
  if (bytes > MOST_BYTES) throw new UnreadableFile(`it has ${bytes} bytes; a decision file has ${MOST_BYTES} at most`);
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
  const file = parsed(text);
  if (!isObject(file) || file['format'] === undefined) throw new UnreadableFile('it is not a decision file');
  if (file['format'] !== FORMAT)
    throw new UnreadableFile(`its format is ${JSON.stringify(file['format'])}; this verifier knows ${FORMAT}`);
  const faults = [...spellingFaults(file, text), ...shapeFaults(file)];
  for (const fault of faults) findings.add('file', 'the file', fault);
  if (faults.length > 0) return undefined;
  return /** @type {DecisionFile} */ (/** @type {unknown} */ (file));
}

/** @param {string} text */
function parsed(text) {
  try {
    return /** @type {unknown} */ (JSON.parse(text));
  } catch (error) {
    throw new UnreadableFile(
      `it is not JSON, or was cut off: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/**
 * Before anything is made of it: JSON of few bytes can need much memory.
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
    if (levels > MOST_LEVELS) throw new UnreadableFile(`it is deeper than ${MOST_LEVELS} levels`);
    if (values > MOST_VALUES) throw new UnreadableFile(`it holds more than ${MOST_VALUES} values`);
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
  let at = 0;
  while (at < text.length && text[at] === canonical[at]) at += 1;
  return [`it is not spelled as RFC 8785 says, from character ${at + 1} on`];
}

/** @param {Readonly<Record<string, unknown>>} file */
function shapeFaults(file) {
  const { executionId, checkpoint, entries, rules, policies } = file;
  return [
    ...memberFaults('it', file, ['checkpoint', 'entries', 'executionId', 'format', 'policies', 'rules']),
    ...(typeof executionId === 'string' ? [] : ['executionId is not a text']),
    ...(typeof checkpoint === 'string' ? [] : ['checkpoint is not a text']),
    ...listFaults('entries', entries, entryShapeFaults),
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
  // One is enough: a list can have millions of others.
  const at = list.findIndex((item) => !isObject(item) || faultsOf(item).length > 0);
  if (at === -1) return [];
  const item = /** @type {unknown} */ (list[at]);
  return (isObject(item) ? faultsOf(item) : ['is not an object']).map((fault) => `${name}[${at}] ${fault}`);
}

/** @param {Json} entry */
function entryShapeFaults(entry) {
  if (Object.hasOwn(entry, 'erased')) return ['was erased, so nothing can be recomputed from it'];
  const { sequence, timestamp, audit, state, proof } = entry;
  return [
    ...memberFaults('', entry, ENTRY),
    ...(Number.isSafeInteger(sequence) && sequence > 0 ? [] : ['has no sequence']),
    ...(isTime(timestamp) ? [] : ['has no timestamp']),
    ...(isObject(audit) && isObject(audit['details']) ? [] : ['has no details']),
    ...(isObject(state) ? [] : ['has no state']),
    ...(isListOf(proof, (hash) => HASH.test(String(hash))) ? [] : ['has no proof']),
  ];
}

/** @param {unknown} text */
function isTime(text) {
  return typeof text === 'string' && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text;
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
  const { effect, priority, conditions = [], limits = [], onBehalfOf = [], approval = null } = policy;
  const added = ['conditions', 'limits', 'onBehalfOf', 'approval'].filter((name) => Object.hasOwn(policy, name));
  const isFull = ['subjects', 'actions', 'resources', 'resourceTypes'].every((name) => isListOf(policy[name], isText));
  return [
    ...memberFaults('', policy, [...CONTENT, ...added]),
    ...(['id', 'name', 'version'].every((name) => isText(policy[name])) ? [] : ['has no id, name and version']),
    ...(isFull && EFFECTS.includes(effect) && Number.isInteger(priority) ? [] : ['is no policy']),
    ...(isListOf(conditions, isCondition) ? [] : ['has a condition that this verifier does not know']),
    ...(isListOf(limits, isLimit) && (limits.length === 0 || effect === 'allow')
      ? []
      : ['has a limit that this verifier does not know']),
    ...(isListOf(onBehalfOf, isText) ? [] : ['has no list of principals']),
    ...((effect === 'require_approval') === isApproval(approval) ? [] : ['has not the approval of its effect']),
  ];
}

/** @param {unknown} limit */
function isLimit(limit) {
  if (!isObject(limit) || !Object.keys(limit).every((name) => LIMIT.includes(name))) return false;
  const { max, of = '/', per, by } = limit;
  return (
    amountText(max) !== null && isText(of) && PERIODS.includes(String(per)) && ['agent', 'policy'].includes(String(by))
  );
}

/** @param {unknown} condition */
function isCondition(condition) {
  if (!isObject(condition) || !Object.keys(condition).every((name) => CONDITION.includes(name))) return false;
  const { parameter, clock, days = [], earlier, within = null, resource = null, claim, op, value } = condition;
  if (!OPERATORS.includes(String(op)) || !isListOf(days, isText)) return false;
  if (claim !== undefined) return isText(claim) && op === 'supports' && isText(parameter) && typeof value === 'number';
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
  return isText(parameter);
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
    isListOf(approvers, (group) => isObject(group) && isGroup(group))
  );
}

/** @param {unknown} allowance */
function isAllowance(allowance) {
  if (!isObject(allowance) || Object.keys(allowance).sort().join() !== 'for,uses,wider') return false;
  const { for: length, uses, wider } = allowance;
  return isDuration(length) && (uses === null || Number.isInteger(uses)) && typeof wider === 'boolean';
}

/** @param {Json} group */
function isGroup(group) {
  const { subjects, approvals, signed } = group;
  return (
    Object.keys(group).sort().join() === (signed === true ? 'approvals,signed,subjects' : 'approvals,subjects') &&
    isListOf(subjects, isText) &&
    Number.isInteger(approvals)
  );
}

/**
 * @param {string} name
 * @param {unknown} list
 * @param {string} by
 */
function orderFaults(name, list, by) {
  if (!Array.isArray(list)) return [];
  const isBehind = list.some((item, index) => index > 0 && !(list[index - 1]?.[by] < item?.[by]));
  return isBehind ? [`${name} are not in the order of their ${by}, each once`] : [];
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
 */
function isListOf(list, is) {
  return Array.isArray(list) && list.every(is);
}
