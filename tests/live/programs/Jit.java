// SPDX-License-Identifier: BSD-2-Clause
// Compiled code of a JIT, entered from the interpreter.
public class Jit {
    static volatile long sink;

    static long spinInner(long x) {
        for (int i = 0; i < 1000; i++)
            x = x * 31 + i;
        return x;
    }

    static long spinOuter(long x) {
        long sum = 0;
        for (int i = 0; i < 1000; i++)
            sum += spinInner(x + i);
        return sum;
    }

    public static void main(String[] args) {
        for (int i = 0; i < 50; i++)
            sink += spinOuter(i);
        System.out.println("ready");
        for (;;)
            sink += spinOuter(sink);
    }
}
