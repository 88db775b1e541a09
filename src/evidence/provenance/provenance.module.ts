import { Module } from '@nestjs/common';
import { ChainExport } from './chain-export';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { ProvenanceController } from './provenance.controller';
import { VerificationModule } from '../verification/verification.module';

@Module({
  imports: [CheckpointsModule, VerificationModule],
  controllers: [ProvenanceController],
  providers: [ChainExport],
})
export class ProvenanceModule {}
