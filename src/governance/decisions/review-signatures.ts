import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { type DomainError, permissionDenied } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { challengeOf } from '../passkeys/challenges';
import { PASSKEY } from '../passkeys/passkey.entity';
import { relyingParty } from '../passkeys/relying-party';
import { keptSignature, loadProtocol, type PasskeySignature } from '../passkeys/webauthn';
import type { GivenGrant } from '../policies/approval/approval-requirement';
import type { Decision } from './decision.entity';

/** An approval as its reviewer's device is to sign it. */
export interface SignedApproval {
  readonly decision: Decision;
  readonly approverId: string;
  readonly grant: GivenGrant | null;
}

/** Checks what reviewers' devices signed. */
@Injectable()
export class ReviewSignatures {
  private readonly publicUrl: string | null;

  constructor({ publicUrl }: Configuration) {
    this.publicUrl = publicUrl;
  }

  /** Before the command that checks one. */
  prepare(): void {
    loadProtocol();
  }

  /** @throws CONFLICT where no passkey can be used. */
  requireParty(): void {
    relyingParty(this.publicUrl);
  }

  /** What is kept of an assertion; null unless a passkey that the approver has now made it for exactly this approval. */
  async kept(
    transaction: LedgerTransaction,
    assertion: JsonObject,
    approval: SignedApproval,
  ): Promise<PasskeySignature | null> {
    const held = await transaction.findAll(PASSKEY, { agentId: approval.approverId });
    return keptSignature(assertion, held, relyingParty(this.publicUrl), challengeOf(signedOf(approval)));
  }
}

/** Of an execution's decision its hash says what is approved; any other decision says it itself. */
function signedOf({ decision, approverId: agentId, grant }: SignedApproval): JsonObject {
  const { id: decisionId, executionId, actionHash, title, description, context, riskLevel } = decision;
  const verdict = 'approve';
  if (executionId === null) return { agentId, context, decisionId, description, riskLevel, title, verdict };
  return { actionHash, agentId, decisionId, ...(grant !== null && { grant: { ...grant } }), verdict };
}

export function signatureRequired(): DomainError {
  return permissionDenied(
    'signature_required',
    'This approval has to be signed with a passkey of the reviewer: approve it in the console, one at a time.',
  );
}

export function signatureInvalid(): DomainError {
  return permissionDenied(
    'signature_invalid',
    'The signature was not made by a passkey that the reviewer has, for exactly this approval and for this service.',
  );
}
