import { Module } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { Database } from '../../ledger/database/database';
import { SchemaContribution } from '../../ledger/database/start-condition';
import { SecretKeyProofs1766200000000 } from './secret-key.migration';
import { SecretKey, SecretKeyProof } from './secret-key';
import { SecretRedaction } from './secret-redaction';

const SCHEMA = new SchemaContribution([SecretKeyProof], [SecretKeyProofs1766200000000]);

/** Replaces the parts of requests that must not be stored. */
@Module({
  providers: [
    { provide: SchemaContribution, useValue: SCHEMA },
    { provide: SecretKey, inject: [Configuration, Database], useFactory: SecretKey.open },
    SecretRedaction,
  ],
  exports: [SecretRedaction],
})
export class SecretsModule {}
