import { DomainError, unauthorized } from '../../core/errors/domain-error';
import { OptionalText } from '../../http/validation/fields';
import type { Caller } from '../../ledger/kinds/caller';

/** The most characters of the name of an upstream. */
const MAX_VIA_CHARACTERS = 40;
const VIA = /^[a-z][a-z0-9-]*$/;

/** Returns the fault of the name of a gateway's upstream; undefined if valid. */
function viaFault(via: string): string | undefined {
  return VIA.test(via) && via.length <= MAX_VIA_CHARACTERS
    ? undefined
    : `must be the name of an upstream: 1 to ${MAX_VIA_CHARACTERS} of the characters a–z, 0–9 and -, beginning with a letter`;
}

/** The member `via` of a request. */
export function ViaField(meaning: string): PropertyDecorator {
  const form = 'It has 1 to 40 of the characters `a–z`, `0–9` and `-`, and begins with a letter.';
  return OptionalText({ max: MAX_VIA_CHARACTERS, rule: viaFault, description: `${meaning} ${form}` });
}

/** Requires that a token issued for an upstream of a gateway is used for that upstream only. @throws UNAUTHORIZED */
export function requireVia({ gatewayAudience }: Pick<Caller, 'gatewayAudience'>, via: string | undefined): void {
  if (gatewayAudience !== undefined && (via === undefined || !gatewayAudience.endsWith(`/${via}/mcp`)))
    throw unauthorized();
}

/** A gateway sends only once what was authorised under a key, also after that authorisation has ceased to hold. */
export function alreadyAuthorized(executionId: string): DomainError {
  return new DomainError(
    'CONFLICT',
    `The Idempotency-Key was used for the execution ${executionId}, which was authorised then, and may have been sent. Give another request a key of its own.`,
    { conflict: 'already_authorized', executionId },
  );
}
