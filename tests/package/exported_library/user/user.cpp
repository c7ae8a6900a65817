bool AppCreatesRuntime();

int main() { return AppCreatesRuntime() ? 0 : 1; }
