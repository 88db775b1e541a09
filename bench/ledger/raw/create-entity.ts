import { canonicalize } from 'json-canonicalize';
import { ENTITY } from '../samples';
import { insertRows, PLAIN_ENTRY, type RawCommand, type RawWriting } from './raw-ledger';

export const WRITE_ENTITIES: RawWriting = {
  sql: insertRows('entities', 'id,createdSequence,type,name,properties,createdAt,updatedAt,revision'),
  counters: ['entities', `entities:type:${ENTITY.type}`],
};

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
        entry: { ...PLAIN_ENTRY, action: 'entity.created', subjectType: 'entity', subjectId: id, entityId: id, state },
      };
    },
  };
}
