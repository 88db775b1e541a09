import { Module } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { Database } from '../../ledger/database/database';
import { StartCondition } from '../../ledger/database/start-condition';
import { LedgerModule } from '../../ledger/ledger.module';
import { CheckpointsController } from './checkpoints.controller';
import { Checkpoints } from './checkpoints.service';
import { refuseContradicted } from './restore-check';
import { CheckpointFiles, StoredCheckpoint, privateCheckpointFiles } from './stored-checkpoint';
import { LogSigner } from './log-signer';
import { RESTORATION } from './restorations';
import { TreeProofs } from './tree-proofs';

@Module({
  imports: [LedgerModule.forFeature({ kinds: [RESTORATION] })],
  controllers: [CheckpointsController],
  providers: [
    { provide: StartCondition, useValue: new StartCondition(refuseContradicted) },
    { provide: CheckpointFiles, inject: [Configuration, Database], useFactory: privateCheckpointFiles },
    StoredCheckpoint,
    { provide: LogSigner, inject: [Configuration, CheckpointFiles], useFactory: LogSigner.open },
    Checkpoints,
    TreeProofs,
  ],
  exports: [Checkpoints, CheckpointFiles, LogSigner, TreeProofs],
})
export class CheckpointsModule {}
