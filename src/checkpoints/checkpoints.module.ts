import { Module } from '@nestjs/common';
import { Configuration } from '../config/configuration';
import { Database } from '../database/database';
import { StartCondition } from '../database/start-condition';
import { LedgerModule } from '../ledger/ledger.module';
import { CheckpointFiles, privateCheckpointFiles } from './checkpoint-files';
import { CheckpointsController } from './checkpoints.controller';
import { Checkpoints } from './checkpoints.service';
import { DatabaseCheck } from './database-check';
import { refuseContradicted } from './found-database-check';
import { KeptCheckpoint } from './kept-checkpoint';
import { LogSigner } from './log-signer';
import { RESTORATION } from './restoration.kind';
import { RestorationsSchema1763800000010 } from './restorations-schema.migration';
import { TreeProofs } from './tree-proofs';

@Module({
  imports: [LedgerModule.forFeature({ kinds: [RESTORATION], migrations: [RestorationsSchema1763800000010] })],
  controllers: [CheckpointsController],
  providers: [
    { provide: StartCondition, useValue: new StartCondition(refuseContradicted) },
    { provide: CheckpointFiles, inject: [Configuration, Database], useFactory: privateCheckpointFiles },
    KeptCheckpoint,
    LogSigner,
    DatabaseCheck,
    Checkpoints,
    TreeProofs,
  ],
  exports: [Checkpoints, LogSigner],
})
export class CheckpointsModule {}
