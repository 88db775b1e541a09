import { canonicalize } from 'json-canonicalize';
import { ENTITY } from '../samples';
import { insertRows, PLAIN_ENTRY, type RawCommand } from './raw-ledger';

export const WRITE_ENTITIES = insertRows(
  'entities',
  'id,createdSequence,type,name,properties,createdAt,updatedAt,revision',
);
const COUNTERS = { entities: 1, [`entities:type:${ENTITY.type}`]: 1 };

export function createEntity(): RawCommand {
  return {
    reads: [],
    change: (ledger) => {
      const { now, sequence } = ledger;
      const id = `ent_${ledger.newUlid()}`;
      const properties = canonicalize(ENTITY.properties);
      const state =
        `{"createdAt":"${now}","id":"${id}","name":${JSON.stringify(ENTITY.name)},"properties":${properties}` +
        `,"revision":1,"type":${JSON.stringify(ENTITY.type)},"updatedAt":"${now}"}`;
      return {
        values: [id, sequence, ENTITY.type, ENTITY.name, properties, now, now, 1],
        counters: COUNTERS,
        entry: { action: 'entity.created', subjectType: 'entity', subjectId: id, state, ...PLAIN_ENTRY, entityId: id },
      };
    },
  };
}
