import { Injectable } from '@nestjs/common';
import { conflict, notFound } from '../errors/domain-error';
import type { Caller } from '../ledger/caller';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { LedgerService } from '../ledger/ledger.service';
import type { Page, PageRequest } from '../ledger/record-page';
import { RecordReader } from '../ledger/record-reader';
import type { CreatePolicyRequest } from './dto/create-policy.request';
import { policyWarnings } from './evaluation/policy-warnings';
import { PolicyBook } from './policy-book';
import { noteOn } from './policy-notes';
import type { Policy } from './policy.entity';
import { POLICY } from './policy.kind';

/** Policies are never edited: one version of a name is in force, and only which one it is can change. */
@Injectable()
export class PoliciesService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly book: PolicyBook,
  ) {}

  list(request: PageRequest): Promise<Page<Policy>> {
    return this.reader.page(POLICY, request);
  }

  /** @throws NOT_FOUND */
  async get(id: string): Promise<Policy> {
    const policy = await this.reader.find(POLICY, id);
    if (policy === undefined) throw notFound('policy');
    return policy;
  }

  /** Puts the new version in force in place of the former. @throws CONFLICT when the name has this version already, or there is no room. */
  create(caller: Caller, request: CreatePolicyRequest): Promise<Policy> {
    const { name, version, description = '', effect, subjects, actions, resources } = request;
    const { resourceTypes = [], priority = 0 } = request;
    const warnings = policyWarnings({ subjects, actions, resources, resourceTypes });
    return this.ledger.write(caller, async (transaction) => {
      if ((await transaction.findBy(POLICY, { name, version })) !== undefined) throw versionTaken(name, version);
      const former = await inForce(transaction, name);
      const rules = { effect, subjects, actions, resources, resourceTypes, priority };
      this.book.requireRoom(rules, former);
      const id = transaction.newId(POLICY);
      this.supersede(transaction, former, id);
      const policy = {
        id,
        name,
        version,
        description,
        ...rules,
        status: 'active',
        warnings,
        createdAt: transaction.now,
      } as const;
      return this.followed(transaction, transaction.insert(POLICY, policy, noteOn(policy, 'policy.created')));
    });
  }

  /** Puts a version back in force in place of the one that is. Repeating changes nothing. @throws NOT_FOUND; CONFLICT when there is no room. */
  activate(caller: Caller, id: string): Promise<Policy> {
    return this.ledger.write(caller, async (transaction) => {
      const policy = await existing(transaction, id);
      if (policy.status === 'active') return policy;
      const former = await inForce(transaction, policy.name);
      this.book.requireRoom(policy, former);
      this.supersede(transaction, former, id);
      const active = { ...policy, status: 'active' } as const;
      return this.followed(transaction, transaction.update(POLICY, active, noteOn(policy, 'policy.activated')));
    });
  }

  /** Takes the version in force out of it. Repeating changes nothing. @throws NOT_FOUND; CONFLICT when another is in force. */
  deactivate(caller: Caller, id: string): Promise<Policy> {
    return this.ledger.write(caller, async (transaction) => {
      const policy = await existing(transaction, id);
      if (policy.status === 'superseded') throw notInForce(policy);
      if (policy.status === 'inactive') return policy;
      const inactive = { ...policy, status: 'inactive' } as const;
      return this.followed(transaction, transaction.update(POLICY, inactive, noteOn(policy, 'policy.deactivated')));
    });
  }

  private supersede(transaction: LedgerTransaction, former: Policy | undefined, supersededBy: string): void {
    if (former === undefined) return;
    const superseded = { ...former, status: 'superseded' } as const;
    const note = noteOn(former, 'policy.superseded', { supersededBy });
    this.followed(transaction, transaction.update(POLICY, superseded, note));
  }

  private followed(transaction: LedgerTransaction, policy: Policy): Policy {
    this.book.follow(transaction, policy);
    return policy;
  }
}

async function existing(transaction: LedgerTransaction, id: string): Promise<Policy> {
  const policy = await transaction.find(POLICY, id);
  if (policy === undefined) throw notFound('policy');
  return policy;
}

async function inForce(transaction: LedgerTransaction, name: string): Promise<Policy | undefined> {
  const [policy] = await transaction.findAll(POLICY, { name, status: 'active' });
  return policy;
}

function versionTaken(name: string, version: string): Error {
  return conflict(`The policy "${name}" has a version ${version} already. Give the new one another version.`);
}

function notInForce({ name, version }: Policy): Error {
  return conflict(
    `Version ${version} of the policy "${name}" is superseded, so there is nothing to take out of force.`,
  );
}
