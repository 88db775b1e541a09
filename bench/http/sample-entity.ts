/** Body of the create request that is measured. */
export const SAMPLE_REQUEST = {
  type: 'service',
  name: 'Payment gateway',
  properties: { owner: 'team-payments', tier: 1, region: 'eu-central-1', tags: ['pci', 'critical'] },
};

/** The entity that servers without a database answer. */
export const SAMPLE_ENTITY = {
  id: 'ent_01KAGQ5W3SYJ8V6D2N4B7XZ9RM',
  ...SAMPLE_REQUEST,
  createdAt: '2026-11-20T06:18:03.123Z',
  updatedAt: '2026-11-20T06:18:03.123Z',
  revision: 1,
};

export const SAMPLE_ROW = { ...SAMPLE_ENTITY, createdSequence: 1 };
