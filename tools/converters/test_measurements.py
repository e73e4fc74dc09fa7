"""Public tables of kernels and collectives: rows that are made up become measurements. Sizes, FLOPs, bytes and seconds are worked out beside each check."""
import csv
import io
import unittest

from measurements_from_tables import convert


class Table(unittest.TestCase):
    def convert(self, text):
        """(columns -> cell of each measurement, rows left out by reason)"""
        columns, made, left_out = convert(list(csv.DictReader(io.StringIO(text))))
        return [dict(zip(columns, m)) for m in made], left_out


class KernelsTest(Table):
    def test_of_matmuls_the_source_names_the_system(self):
        made, left_out = self.convert("m,n,k,latency_ms,tflops,source\n"
                                      '8,64,32,0.002,0.1,"x@1 systems/data/h100_sxm/gemm/y"\n'
                                      "0,64,32,0.002,0.1,x systems/data/h100_sxm/gemm/y\n"
                                      "8,64,32,0.002,0.1,x systems/data/gaudi/gemm/y\n")
        self.assertEqual([(m["device"], m["precision"], m["kind"], m["m"], m["n"], m["k"]) for m in made], [("h100-sxm-80gb", "bf16", "matmul", 8, 64, 32)])
        self.assertAlmostEqual(made[0]["seconds"], 2e-6)
        self.assertEqual(made[0]["flops"], 2 * 8 * 64 * 32)
        self.assertEqual(made[0]["bytes"], 2 * (8 * 32 + 32 * 64 + 8 * 64))
        self.assertEqual(left_out, {"a size is 0": 1, "no device profile for gaudi": 1})

    def test_deepbench_convolution_is_three_products(self):
        """56 x 56 positions of 2 images, 128 channels, 64 x 9."""
        made, left_out = self.convert(
            "device,precision_sheet,section,fields_json,source\n"
            'V100,Results - FP16 ip,Convolution,"{""W"":56,""H"":56,""C"":64,""N"":2,""K"":128,""S (Filter width)"":3,""R (Filter height)"":3,""P"":56,'
            '""Q"":56,""Forward (msec)"":0.1,""wrt Inputs (msec)"":0.2,""wrt Parameters (msec)"":0.3}",s\n'
            'V100,Results - Psuedo FP16,Dense Matrix Multiplication,"{""M"":1}",s\nV100,Results FP32,All-Reduce,"{""Size"":1}",s\n')
        positions, window = 2 * 56 * 56, 64 * 9
        self.assertEqual([(m["m"], m["n"], m["k"]) for m in made], [(positions, 128, window), (positions, window, 128), (128, window, positions)])
        self.assertEqual({m["precision"] for m in made}, {"fp16"})
        self.assertEqual({m["flops"] for m in made}, {2 * positions * 128 * window})
        self.assertEqual({m["bytes"] for m in made}, {2 * (2 * 64 * 56 * 56 + 128 * window + positions * 128)})
        self.assertAlmostEqual(made[2]["seconds"], 3e-4)
        self.assertEqual(left_out, {"computed in fp32 whatever is stored": 1, "neither a matmul nor a convolution": 1})

    def test_cudnn_attention_is_a_pass_a_row(self):
        """Causal, 2 samples of 64 heads of 128 with 8 of keys: 2 x 128 x 4096 x 4096 x 1/2 x 256 FLOP forward, 640 backward; a window of 128 keys is met
        whole but for its beginning, 1 - 128 / 8192."""
        made, left_out = self.convert(
            "backend,data_type,attn_mask,batch_size,q_seqlen,kv_seqlen,num_q_heads,num_kv_heads,head_dim_qk,head_dim_vo,profile_pass,deterministic_bwd,time_ms,"
            "sliding_window_size,success,gpu_name\n"
            "cudnn,bfloat16,top_left,2,4096,4096,64,8,128,128,fwd,False,0.391,,True,NVIDIA GB200\n"
            "cudnn,mxfp8,top_left,2,4096,4096,64,8,128,128,bwd,False,1.305,,True,NVIDIA GB200\n"
            "cudnn,bfloat16,top_left,2,4096,4096,128,128,64,64,fwd,False,0.21,128,True,NVIDIA GB200\n"
            "cudnn,bfloat16,no_mask,2,4096,4096,128,128,192,128,bwd,False,6.085,,True,NVIDIA GB200\n"
            "cudnn,bfloat16,top_left,2,4096,4096,64,8,128,128,bwd,True,1.352,,True,NVIDIA GB200\n"
            "flash_attention_4,bfloat16,top_left,2,4096,4096,64,8,128,128,fwd,False,0.3,,True,NVIDIA GB200\n"
            "cudnn,fp8,top_left,2,4096,4096,64,8,128,128,fwd,False,inf,,False,NVIDIA GB200\n"
            "cudnn,bfloat16,top_left,2,4096,4096,64,8,128,128,fwd,False,0.3,,True,NVIDIA RTX PRO 6000\n")
        forward, backward, window, whole = made
        self.assertEqual((forward["device"], forward["kind"], forward["batch"]), ("gb200-186gb", "attention", 128))
        self.assertEqual(forward["flops"], 2 * 128 * 4096 * 4096 / 2 * 256)
        self.assertEqual(forward["bytes"], 2 * 2 * (64 + 8) * 4096 * 256)
        self.assertEqual((backward["precision"], backward["kind"]), ("mxfp8", "attention_gradient"))
        self.assertEqual(backward["flops"], 2 * 128 * 4096 * 4096 / 2 * 640)
        self.assertEqual(window["n"], 128)
        self.assertEqual(window["flops"], 2 * 256 * 4096 * 128 * (1 - 128 / 8192) * 128)
        self.assertEqual(whole["k"], 160)
        self.assertEqual(whole["flops"], 2 * 256 * 4096 * 4096 * (3 * 192 + 2 * 128))
        self.assertEqual(left_out, {"gradients are added in a fixed order": 1, "attention of another library than cuDNN": 1, "no time": 1,
                                    "no device profile for NVIDIA RTX PRO 6000": 1})


class CollectivesTest(Table):
    def check(self, made, *rows):
        self.assertEqual([(m["cluster"], m["nodes"], m["gpus"], m["kind"], m["bytes"]) for m in made], [r[:5] for r in rows])
        for m, row in zip(made, rows):
            self.assertAlmostEqual(m["seconds"] / row[5], 1)

    def test_aiconfigurator(self):
        made, left_out = self.convert("system,device,nccl_version,op,dtype,n_gpus,message_size_elements,bytes,latency_ms,source_dir\n"
                                      "a100_sxm,X,2.27,alltoall,half,4,512,1024,0.0125,s\nl40,X,2.27,all_gather,half,4,512,1024,0.0125,s\n"
                                      "l40s,X,2.27,all_gather,half,2,512,1024,0.0125,s\nl40s,X,2.27,all_gather,half,4,512,1024,0.0125,s\n"
                                      "gb200,g,2,all_gather,half,4,1,2048,0.02,s\nb300_sxm,b,2,all_reduce,half,8,1,2048,0.03,s\n")
        self.check(made, ("dgx-a100-80gb", 1, 4, "all_to_all", 1024, 12.5e-6), ("pcie-l40s-4", 1, 2, "all_gather", 1024, 12.5e-6),
                   ("gb200-nvl72", 1, 4, "all_gather", 2048, 20e-6), ("dgx-b300", 1, 8, "all_reduce", 2048, 30e-6))
        self.assertEqual(left_out, {"no cluster preset for l40": 1, "its wires between more than two GPUs are not known": 1})

    def test_vtrain_is_one_node_out_of_place(self):
        made, _ = self.convert("gpu,n_gpus,bytes,out_of_place_us,out_busbw_GBps,in_place_us,in_busbw_GBps,op,dtype,source\n"
                               "v100,8,4194304,151,48,150,48,all_reduce,f,s\n")
        self.check(made, ("dgx-1v", 1, 8, "all_reduce", 4194304, 151e-6))

    def test_nccl_tests_name_machines_by_gpu_and_network(self):
        """40 and 49 us are up to a quarter above the 40 of one process."""
        one, process = "all_reduce,A100-SXM4-40GB,8,1,NVLink3+NVSwitch,", ',0,0,0,0,0,"single process, 8 GPUs",s\n'
        made, left_out = self.convert(
            "op,gpu,n_gpus,n_nodes,network,bytes,dtype,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps,notes,source\n" +
            f"{one}256,float,40{process}{one}65536,float,49{process}{one}1048576,float,75{process}"
            "all_reduce,H100 (p5.48xlarge),16,2,3200Gb/s EFA; EKS,1024,float,70,0,0,,,,,s\n"
            "all_reduce,GB200 NVL72,144,36,2 racks NVL72 + IB,4096,float,90,0,0,,,,,s\n"
            "reduce,H100 (p5.48xlarge),16,2,3200Gb/s EFA; EKS,1024,float,70,0,0,,,,,s\n"
            "all_reduce,B9000,8,1,soup,1024,float,70,0,0,,,,,s\n")
        self.check(made, ("dgx-a100-40gb", 1, 8, "all_reduce", 1048576, 75e-6), ("aws-p5.48xlarge", 2, 16, "all_reduce", 1024, 70e-6),
                   ("gb200-nvl72", 36, 144, "all_reduce", 4096, 90e-6))
        self.assertEqual(left_out, {"as quick as one process launches": 2, "no such collective here: reduce": 1, "no cluster preset for B9000, soup": 1})

    def test_vidur_has_nodes_from_workers_and_devices_per_node(self):
        made, left_out = self.convert("network_device,op,num_workers,devices_per_node,max_devices_per_node,bytes,min_ms,median_ms,mean_ms,max_ms,source\n"
                                      "h100_dgx,send_recv,2,1,8,2048,1,0.017,1,1,s\na100_dgx,send_recv,2,1,8,2048,1,0.03,1,1,s\n"
                                      "a100_dgx,all_reduce,4,4,8,2048,1,0.06,1,1,s\n")
        self.check(made, ("dgx-h100", 2, 2, "send", 2048, 17e-6), ("dgx-a100-80gb", 1, 4, "all_reduce", 2048, 60e-6))
        self.assertEqual(left_out, {"between nodes, over a fabric that is not named": 1})

    def test_ml_engineering_has_times_from_bus_bandwidths(self):
        """Python launches no quicker than 1 MB at 35 GB/s on a P6, so that row is the host's; of several nodes, rows are the network's."""
        p6 = "all_reduce,B200 (AWS P6-B200),"
        made, left_out = self.convert("op,gpu,n_gpus,n_nodes,network,bytes,busbw_GBps,algbw_GBps,source\n"
                                      "all_reduce,H200,8,1,NVLink; NCCL algo NVLS,8000000000,400,,s\nall_reduce,H200,8,1,NVLink; NVLS off (ring),8000000000,300,,s\n"
                                      f"{p6}8,1,NVLink5,1000000,35,,s\n{p6}8,1,NVLink5,1000000000,700,,s\n{p6}32,4,EFA v4 8x400Gb per node,1000000,5,,s\n")
        self.check(made, ("dgx-h200", 1, 8, "all_reduce", 8e9, 2 * 7 / 8 * 8e9 / 400e9), ("aws-p6-b200.48xlarge", 1, 8, "all_reduce", 1e9, 2 * 7 / 8 * 1e9 / 700e9),
                   ("aws-p6-b200.48xlarge", 4, 32, "all_reduce", 1e6, 2 * 31 / 32 * 1e6 / 5e9))
        self.assertEqual(left_out, {"the algorithm was forced": 1, "as quick as Python launches": 1})

    def test_many_authors_give_times_or_bus_bandwidths(self):
        made, left_out = self.convert("system,n_nodes,gpus_per_node,n_gpus,collective,bytes,busbw_GBps,algbw_GBps,time_us,notes,source\n"
                                      "H100 Nebius HGX (8 x 400 Gb/s IB),2,8,16,all_reduce,1048576,22.3,11.89,88,torch,s\n"
                                      "H200 HGX,1,8,8,all_gather,8000000000,350,,,ring,s\nH100 HGX,2,8,16,all_reduce,8000000000,330,,,NVLS off,s\n"
                                      "H100 HGX,1,8,8,all_reduce,large,476,,,NVLS,s\nH200 HGX,1,8,8,ep_combine,,,43.6,,HybridEP,s\n")
        self.check(made, ("dgx-h100", 2, 16, "all_reduce", 1048576, 88e-6), ("dgx-h200", 1, 8, "all_gather", 8e9, 7 / 8 * 8e9 / 350e9))
        self.assertEqual(left_out, {"the algorithm was forced": 1, "no bytes": 1, "no such collective here: ep_combine": 1})


if __name__ == "__main__":
    unittest.main()
