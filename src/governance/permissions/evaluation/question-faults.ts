import { AGENT_KINDS, agentNameFault, normaliseAgentName } from '../../agents/agent-name';
import { type FieldFault, MOST_FAULTS } from '../../../core/errors/domain-error';
import {
  type FaultInside,
  faultsBy,
  oneOfFault,
  textFault,
  type TextLimits,
  textListFault,
  unknownMembers,
} from '../../../http/validation/value-rules';
import { resourcePathFault, resourceTypeFault } from '../../policies/patterns/resources';
import { isGiven } from './questions';
import { exactLabelFault, notComposedFault } from '../../../core/values/label-fault';

export const MOST_REQUESTS = 1_000;
export const MOST_EXPLAINED = 50;

/** The same limits as in execute. */
export const ACTION: TextLimits = { max: 100, rule: notComposedFault };
export const RESOURCE_TYPE: TextLimits = { max: 100, rule: resourceTypeFault };
export const RESOURCE_ID: TextLimits = { max: 500, rule: resourcePathFault };
export const AGENT_REFERENCE = { max: 200, normalise: normaliseAgentName };

/** The same limits as for agents. */
export const SUBJECT_NAME: TextLimits = { max: 200, rule: agentNameFault };
export const SUBJECT_ROLES = { maxItems: 50, item: { max: 100, rule: exactLabelFault } };

const REQUIRED = ['action', 'resourceType', 'resourceId'] as const;
const QUESTION_MEMBERS = ['agent', 'subject', ...REQUIRED, 'parameters'];
const SUBJECT_MEMBERS = ['name', 'roles', 'kind'];

type Members = Readonly<Record<string, unknown>>;

/** What is wrong with each question in the list. */
export function requestsFault(value: unknown): string | readonly FaultInside[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_REQUESTS)
    return `must be an array of 1 to ${MOST_REQUESTS} requests`;
  const faults: FaultInside[] = [];
  for (const [index, given] of value.entries()) {
    if (faults.length >= MOST_FAULTS) break;
    if (isObject(given)) addQuestionFaults(given, `[${index}]`, faults);
    else faults.push({ at: `[${index}]`, message: 'must be an object' });
  }
  return faults;
}

/** What is wrong with an agent that is not registered. */
export function subjectFault(value: unknown): string | readonly FaultInside[] | undefined {
  if (!isObject(value)) return 'must be an object';
  const { name, roles, kind } = value;
  return [
    ...unknownMembers(value, SUBJECT_MEMBERS),
    ...optionalFault('.name', name, (text) => nameFault(text, SUBJECT_NAME)),
    ...(!isGiven(roles) ? [] : faultsBy((list) => textListFault(list, SUBJECT_ROLES), '.roles', roles).map(inside)),
    ...optionalFault('.kind', kind, (text) => oneOfFault(text, AGENT_KINDS)),
  ];
}

/** What is wrong with the subject of a question: none, or both an agent and another subject. */
export function whoFaults(members: Members): readonly FieldFault[] {
  return [...conflictFaults(members), ...missingWho(members, {}, '')];
}

/** What is wrong with the combination of members: missing ones, or ones that exclude each other. */
export function togetherFaults(members: Members): readonly FieldFault[] {
  const { requests, explain, open } = members;
  const conflict = [...conflictFaults(members), ...openFaults(requests, explain, open)];
  if (requests === undefined) return [...conflict, ...missingFrom(members, {}, '')];
  if (!Array.isArray(requests)) return conflict;
  const tooMany = explain === true && requests.length > MOST_EXPLAINED;
  return [
    ...conflict,
    ...(tooMany ? [{ field: 'requests', message: `must be at most ${MOST_EXPLAINED} with explain` }] : []),
    ...requests.flatMap((given: unknown, index) =>
      isObject(given) ? missingFrom(given, members, `requests[${index}].`) : [],
    ),
  ];
}

function openFaults(requests: unknown, explain: unknown, open: unknown): FieldFault[] {
  if (open !== true) return [];
  const alone = { field: 'open', message: 'goes with requests only' };
  const both = { field: 'open', message: 'must be left out: explain is given' };
  return [...(requests === undefined ? [alone] : []), ...(explain === true ? [both] : [])];
}

/** The rules for members with a single message, in the order in which faults are reported. */
const QUESTION_RULES: readonly (readonly [member: string, rule: (value: unknown) => string | undefined])[] = [
  ['agent', (text) => nameFault(text, AGENT_REFERENCE)],
  ['action', (text) => textFault(text, ACTION)],
  ['resourceType', (text) => textFault(text, RESOURCE_TYPE)],
  ['resourceId', (text) => textFault(text, RESOURCE_ID)],
  ['parameters', (value) => (isObject(value) ? undefined : 'must be an object')],
];

/** The length of a name counts in normal form C. */
function nameFault(value: unknown, limits: TextLimits): string | undefined {
  return textFault(typeof value === 'string' ? normaliseAgentName(value) : value, limits);
}

const EITHER = 'must be left out: agent is given';

function addQuestionFaults(given: Members, place: string, faults: FaultInside[]): void {
  for (const { at, message } of unknownMembers(given, QUESTION_MEMBERS)) faults.push({ at: `${place}${at}`, message });
  // The list is usually long and without faults: nothing is allocated for valid members.
  for (const [member, rule] of QUESTION_RULES) {
    const value = given[member];
    const message = isGiven(value) ? rule(value) : undefined;
    if (message !== undefined) faults.push({ at: `${place}.${member}`, message });
  }
  const { subject } = given;
  if (isGiven(subject)) faults.push(...faultsBy(subjectFault, `${place}.subject`, subject).map(inside));
  if (hasBoth(given)) faults.push({ at: `${place}.subject`, message: EITHER });
}

function missingFrom(given: Members, defaults: Members, prefix: string): FieldFault[] {
  const missing = REQUIRED.filter((member) => !isGiven(given[member]) && !isGiven(defaults[member]));
  return [
    ...missingWho(given, defaults, prefix),
    ...missing.map((member) => ({ field: `${prefix}${member}`, message: 'is required' })),
  ];
}

function missingWho(given: Members, defaults: Members, prefix: string): FieldFault[] {
  const isNamed = [given, defaults].some(({ agent, subject }) => isGiven(agent) || isGiven(subject));
  return isNamed ? [] : [{ field: `${prefix}agent`, message: 'is required, or subject' }];
}

function conflictFaults(members: Members): FieldFault[] {
  return hasBoth(members) ? [{ field: 'subject', message: EITHER }] : [];
}

function hasBoth({ agent, subject }: Members): boolean {
  return isGiven(agent) && isGiven(subject);
}

function optionalFault(at: string, value: unknown, rule: (value: unknown) => string | undefined): FaultInside[] {
  const message = !isGiven(value) ? undefined : rule(value);
  return message === undefined ? [] : [{ at, message }];
}

function inside({ field, message }: FieldFault): FaultInside {
  return { at: field, message };
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
