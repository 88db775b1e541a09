import { canonicalize } from 'json-canonicalize';
import { CLAIM } from '../samples';
import { insertRows, PLAIN_ENTRY, type RawCommand } from './raw-ledger';

export const WRITE_CLAIMS = insertRows('claims', 'id,createdSequence,entityId,predicate,value,context,createdAt');

export function addClaim(entityId: string): RawCommand {
  return {
    reads: [['SELECT * FROM entities WHERE id = $1', [entityId]]],
    change: (ledger, [entity]) => {
      if (entity === undefined) throw new Error('The entity is missing.');
      const { now, sequence } = ledger;
      const id = `clm_${ledger.newUlid()}`;
      const value = canonicalize(CLAIM.value);
      const context = canonicalize(CLAIM.context);
      const state =
        `{"context":${context},"createdAt":"${now}","entityId":"${entityId}","id":"${id}"` +
        `,"predicate":${JSON.stringify(CLAIM.predicate)},"value":${value}}`;
      return {
        values: [id, sequence, entityId, CLAIM.predicate, value, context, now],
        counters: { claims: 1 },
        entry: { action: 'claim.added', subjectType: 'claim', subjectId: id, state, ...PLAIN_ENTRY, entityId },
      };
    },
  };
}
