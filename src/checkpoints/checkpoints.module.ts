import { Module } from '@nestjs/common';
import { LedgerModule } from '../ledger/ledger.module';
import { CheckpointsController } from './checkpoints.controller';
import { Checkpoints } from './checkpoints.service';
import { RESTORATION } from './restoration.kind';
import { RestorationsSchema1763800000010 } from './restorations-schema.migration';
import { TreeProofs } from './tree-proofs';

@Module({
  imports: [LedgerModule.forFeature({ kinds: [RESTORATION], migrations: [RestorationsSchema1763800000010] })],
  controllers: [CheckpointsController],
  providers: [Checkpoints, TreeProofs],
  exports: [Checkpoints],
})
export class CheckpointsModule {}
