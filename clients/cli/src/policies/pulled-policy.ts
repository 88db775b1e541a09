import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import type { Schemas } from '../../../typescript/src/index.js';
import { PolicyFile } from './policy-file.js';
import type { Policy } from './policy-files.js';

/** Bytes of a file's name, with room for a number and the ending. */
const MAX_NAME_LENGTH = 200;

/**
 * Maximum number of approvals that a policy can require of one group; the group that the service fills in may require
 * more.
 */
const MAX_APPROVALS = 10;

type InForce = Schemas['PolicyResponse'];
type Approval = NonNullable<InForce['approval']>;

/** Folds and blocks read best, but do not keep all white space; texts in quotes, each on one line, do. */
const READABLE = { lineWidth: 120 };
const EXACT = { lineWidth: 0, blockQuote: false, doubleQuotedAsJSON: true };

/** Returns the text of a file for a policy that is in force; defaults are left out. */
export function policyFileText(policy: InForce): string {
  const content = { policies: [bodyOf(policy)] };
  const readable = stringify(content, READABLE);
  const text = isDeepStrictEqual(new PolicyFile('', readable).value, content) ? readable : stringify(content, EXACT);
  const omission = leftOut(policy);
  return omission === null ? text : `# ${omission}\n${text}`;
}

/** Returns what the file of a policy cannot say; null if it says everything. */
export function leftOut({ approval }: InForce): string | null {
  const most = Math.max(0, ...(approval?.approvers ?? []).map(({ approvals }) => approvals));
  if (most <= MAX_APPROVALS) return null;
  const risk = `${approval?.riskLevel ?? ''}=${most}`;
  return `It requires ${most} approvals, and a file at most ${MAX_APPROVALS}: they depend on REQUIRED_APPROVALS (${risk}) where it is applied.`;
}

/**
 * Returns a file name for a policy: its name, with `-` for characters that do not belong in a file name.
 * @param takenNames names already in use
 */
export function policyFileName({ name }: Pick<InForce, 'name'>, takenNames: ReadonlySet<string>): string {
  const plain = cut(name.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[.-]+|[.-]+$/g, '')) || 'policy';
  for (let number = 1; ; number += 1) {
    const file = number === 1 ? `${plain}.yaml` : `${plain}-${number}.yaml`;
    if (!takenNames.has(file.toLowerCase())) return file;
  }
}

/** Cuts a name to the bytes that a file system allows; a character has up to four. */
function cut(name: string): string {
  const characters = [...name];
  while (Buffer.byteLength(characters.join('')) > MAX_NAME_LENGTH) characters.pop();
  return characters.join('');
}

function bodyOf(policy: InForce): Policy {
  const { name, version, description, effect, subjects, actions, resources, resourceTypes, priority } = policy;
  const { conditions, limits, onBehalfOf, approval } = policy;
  return {
    name,
    version,
    ...(description !== '' && { description }),
    effect,
    subjects,
    actions,
    resources,
    ...(resourceTypes.length > 0 && { resourceTypes }),
    ...(priority !== 0 && { priority }),
    ...(conditions.length > 0 && { conditions: conditions }),
    ...(limits.length > 0 && { limits }),
    ...(onBehalfOf !== null && { onBehalfOf }),
    ...(approval !== null && { approval: givenApproval(policy, approval) }),
  };
}

/**
 * Returns the approval for a file, without the approvers if the service must have filled them in: a file with them
 * would be refused.
 */
function givenApproval(policy: InForce, approval: Approval): object {
  const { approvers, grant, ...members } = approval;
  return {
    ...members,
    ...(leftOut(policy) === null && { approvers }),
    ...(grant && { grant: givenAllowance(grant) }),
  };
}

function givenAllowance({ for: length, uses, wider }: NonNullable<Approval['grant']>): object {
  return { for: length, ...(uses !== null && { uses }), ...(wider && { wider }) };
}
