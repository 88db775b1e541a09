import type { EntryNote } from '../ledger/ledger-transaction';
import type { Webhook } from './webhook.entity';

/** Members of a webhook that an entry lists when they have changed. */
export type ChangedMember = 'url' | 'actions' | 'agentId' | 'description' | 'secret' | 'status';

export function createdNote({ actions }: Pick<Webhook, 'actions'>): EntryNote {
  return { action: 'webhook.created', details: { actions } };
}

export function updatedNote(changed: readonly ChangedMember[]): EntryNote {
  return { action: 'webhook.updated', details: { fields: changed } };
}

export function deletedNote(): EntryNote {
  return { action: 'webhook.deleted' };
}

/** @param status of the last answer. */
export function failingNote(status: number | null): EntryNote {
  return { action: 'webhook.failing', details: { status }, bySystem: true };
}
